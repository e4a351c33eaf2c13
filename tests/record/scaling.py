#!/usr/bin/env python3
"""A small net trained with autocast and GradScaler, with gradients that are not finite now and then."""
import torch
from cases import values, write

TRAINING = """Training with autocast and GradScaler: parameters before, inputs and targets, for every step the scale, whether it was taken
and the loss; parameters, optimizer's state and scaler's state dict afterwards"""
UNSCALING = "Gradients, and what unscale_ makes of them with a scale of 3.3"
STEPS = 14


def run(dtype, name):
    torch.manual_seed(3)
    net = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.LayerNorm(16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
    before = [p.detach().clone() for p in net.parameters()]
    inputs, targets = torch.randn(STEPS, 8, 6), torch.randn(STEPS, 8, 4)
    optimizer = {"SGD": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9), "Adam": lambda p: torch.optim.Adam(p, lr=0.01)}[name](net.parameters())
    scaler = torch.amp.GradScaler("cpu", init_scale=1000.0, growth_factor=1.7, backoff_factor=0.3, growth_interval=3)
    scales, taken, losses = [], [], []
    for step in range(STEPS):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=dtype):
            out = net(inputs[step])
            loss = torch.nn.functional.mse_loss(out, targets[step])
        assert out.dtype == dtype and loss.dtype == torch.float32
        scaler.scale(loss).backward()
        if step in (4, 5):
            net[0].weight.grad[2, 3] = float("nan")
        if step == 9:
            net[3].bias.grad[1] = float("-inf")
        if step % 2 == 1:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        probe = net[0].weight.detach().clone()
        scaler.step(optimizer)
        taken.append(not torch.equal(probe, net[0].weight))
        scaler.update()
        scales.append(scaler.get_scale())
        losses.append(loss.item())
    kept = "momentum_buffer" if name == "SGD" else "exp_avg"
    return {"dtype": str(dtype), "optimizer": name, "before": before, "inputs": inputs, "targets": targets, "scales": scales, "taken": taken,
            "losses": losses, "after": [p.detach().clone() for p in net.parameters()],
            "kept": [optimizer.state[p][kept].clone() for p in net.parameters()], "scaler": scaler.state_dict()}


def unscaled():
    """Gradients of several dtypes, divided by a scale whose inverse is no float."""
    rows = []
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        grad = (torch.arange(-20, 20, dtype=torch.float64) * 1.37 + 0.01).to(dtype)
        parameter = torch.nn.Parameter(torch.zeros(40, dtype=dtype))
        parameter.grad = grad.clone()
        scaler = torch.amp.GradScaler("cpu", init_scale=3.3)
        scaler.scale(torch.ones(()))
        scaler.unscale_(torch.optim.SGD([parameter]))
        rows.append({"grad": grad, "unscaled": parameter.grad})
    return rows


def main():
    runs = [run(dtype, name) for dtype in (torch.bfloat16, torch.float16) for name in ("SGD", "Adam")]
    write("optim/cases/scaling", [values(one) for one in runs], TRAINING)
    write("optim/cases/unscaling", [values(one) for one in unscaled()], UNSCALING)


main()
