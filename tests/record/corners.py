#!/usr/bin/env python3
"""What PyTorch's gradients are in corners: ties, bounds, zeros, NaNs."""
import torch
from cases import write

COLUMNS = "Gradients in corners: name of the case, node, the gradient of each operand"
LINES = []


def g(n,y,xs):
    s=n+" "+y.grad_fn.name().removeprefix("torch::autograd::")
    gs=torch.autograd.grad([y.sum()],xs,allow_unused=True)
    for t in gs:
        s+= " -" if t is None else " "+",".join("%g"%v for v in t.reshape(-1).tolist())
    LINES.append(s)
L=lambda v: torch.tensor(v,dtype=torch.float64,requires_grad=True)
T=torch
a=L([1.,2.,2.,0.]); b=L([1.,3.,1.,0.])
g("maximum",T.maximum(a,b),[a,b]);g("minimum",T.minimum(a,b),[a,b]);g("fmax",T.fmax(a,b),[a,b]);g("fmin",T.fmin(a,b),[a,b])
g("amax",a.amax(0),[a]);g("max",a.max(),[a]);g("maxdim",a.max(0)[0],[a])
n=lambda x,p:T.linalg.vector_norm(x,p)
for s,p in(("norm2",2),("norm1",1),("norm.5",.5),("norm3",3),("norminf",float('inf')),("norm0",0),("norm1.5",1.5)): g(s,n(a,p),[a])
z=L([0.,0.]);g("norm2z",n(z,2),[z]);g("norm1.5z",n(z,1.5),[z]);g("norm3z",n(z,3),[z])
g("std",a.std(),[a]);g("stdz",z.std(),[z]);g("var",a.var(),[a])
lo=L([1.5,0.,3.,0.]);hi=L([3.,1.,2.,1.])
g("clamp",T.clamp(a,lo,hi),[a,lo,hi]);g("clampn",a.clamp(1.,2.),[a]);g("clampmin",T.clamp(a,min=lo),[a,lo])
g("pow",a.pow(b),[a,b]);g("pow0",a.pow(0),[a]);g("pow2",a.pow(2),[a]);g("pow.5",a.pow(.5),[a]);g("rpow",T.pow(2,b),[b])
g("prod",a.prod(),[a]);g("proddim",a.reshape(2,2).prod(1),[a]);g("cumprod",a.cumprod(0),[a])
g("xlogy",T.xlogy(a,b+1),[a,b]);g("copysign",T.copysign(a,b),[a,b]);g("atan2",T.atan2(a+1,b),[a,b]);g("hypot",T.hypot(a,b+1),[a,b])
g("remainder",T.remainder(a,b+2),[a,b]);g("fmod",T.fmod(a,b+2),[a,b]);g("abs",a.abs(),[a]);g("sqrt",a.sqrt(),[a]);g("relu",T.relu(a-1),[a]);g("sign",a.sign(),[a])
g("topk",a.topk(2)[0],[a]);g("sort",a.sort()[0],[a])
g("logaddexp",T.logaddexp(a,b),[a,b]);g("lerp",T.lerp(a,b,.3),[a,b]);g("addcdiv",T.addcdiv(a,b,b+1,value=2),[a,b])
g("expand",a.expand(3,4),[a]);g("unfold",a.unfold(0,2,1),[a]);g("asstr",a.as_strided((2,3),(1,1),0),[a]);g("diag",a.reshape(2,2).diagonal(),[a])
g("embedding",T.nn.functional.embedding(T.tensor([0,1,1]),a.reshape(2,2)),[a]);g("linear",T.nn.functional.linear(a.reshape(1,4),b.reshape(1,4)),[a,b])
g("mean",a.mean(),[a]);g("cumsum",a.cumsum(0),[a]);g("index",a[T.tensor([0,0,3])],[a]);g("take",T.take(a,T.tensor([0,-1])),[a])
g("div",a/(b+1),[a,b]);g("truncdiv",T.div(a,b+1,rounding_mode="trunc"),[a,b])
g("where",T.where(a>1,a,b),[a,b]);g("cat",T.cat([a,b]),[a,b]);g("stack",T.stack([a,b]),[a,b]);g("dot",T.dot(a,b),[a,b])
g("copy",(a*1).copy_(b),[a,b]);g("zero",(a*1).zero_(),[a]);g("mul_",(a*1).mul_(b),[a,b]);g("exp_",(a*1).exp_(),[a]);g("sin_",(a*1).sin_(),[a])
nan=float('nan')
a=L([0.,1.,1.5,2.,3.,nan])
g('min1',a.clamp(min=1.),[a]); g('max2',a.clamp(max=2.),[a]); g('12',a.clamp(1.,2.),[a]); g('21',a.clamp(2.,1.),[a])
m=L([1.]*6); M=L([2.]*6)
g('tmin',T.clamp(a,min=m),[a,m]); g('tmax',T.clamp(a,max=M),[a,M]); g('t12',T.clamp(a,m,M),[a,m,M]); g('t21',T.clamp(a,M,m),[a,M,m])
e=L([1.]*6); f=L([1.]*6)
g('t11',T.clamp(a,e,f),[a,e,f])
x=L([nan,nan,1.,2.,1.]);y=L([nan,1.,nan,2.,0.])
g('fmax',T.fmax(x,y),[x,y]);g('fmin',T.fmin(x,y),[x,y]);g('maximum',T.maximum(x,y),[x,y]);g('minimum',T.minimum(x,y),[x,y])

a = L([1., nan, 2.]); g("naninf", n(a, float("inf")), [a]); g("nanmax", a.max(), [a])
a = L([0., 1.]); b = L([2., 3.]); g("xlogy0", T.xlogy(a, b), [a, b]); g("atan20", T.atan2(a * 0, b * 0), [a, b])
a = L([1., 2.]); b = L([.1, .3]); g("border", T.remainder(a, b), [a, b])

write("autograd/cases/corners", [LINES], COLUMNS)
