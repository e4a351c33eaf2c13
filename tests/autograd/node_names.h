// Made by make_node_names.py: a call, the name PyTorch gives its node, and the call.
#pragma once

inline const Named kNodeNames[] = {
    // clang-format off
    {R"(neg(x))", "NegBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return neg(x);
     }},
    {R"(abs(x))", "AbsBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return abs(x);
     }},
    {R"(square(x))", "PowBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return square(x);
     }},
    {R"(reciprocal(x))", "ReciprocalBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return reciprocal(x);
     }},
    {R"(sqrt(x))", "SqrtBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return sqrt(x);
     }},
    {R"(rsqrt(x))", "RsqrtBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return rsqrt(x);
     }},
    {R"(exp(x))", "ExpBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return exp(x);
     }},
    {R"(exp2(x))", "Exp2Backward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return exp2(x);
     }},
    {R"(expm1(x))", "Expm1Backward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return expm1(x);
     }},
    {R"(log(x))", "LogBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return log(x);
     }},
    {R"(log2(x))", "Log2Backward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return log2(x);
     }},
    {R"(log10(x))", "Log10Backward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return log10(x);
     }},
    {R"(log1p(x))", "Log1PBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return log1p(x);
     }},
    {R"(sin(x))", "SinBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return sin(x);
     }},
    {R"(cos(x))", "CosBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return cos(x);
     }},
    {R"(tan(x))", "TanBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return tan(x);
     }},
    {R"(asin(x))", "AsinBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return asin(x);
     }},
    {R"(acos(x))", "AcosBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return acos(x);
     }},
    {R"(atan(x))", "AtanBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return atan(x);
     }},
    {R"(sinh(x))", "SinhBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return sinh(x);
     }},
    {R"(cosh(x))", "CoshBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return cosh(x);
     }},
    {R"(tanh(x))", "TanhBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return tanh(x);
     }},
    {R"(asinh(x))", "AsinhBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return asinh(x);
     }},
    {R"(acosh(x))", "AcoshBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return acosh(x);
     }},
    {R"(atanh(x))", "AtanhBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return atanh(x);
     }},
    {R"(sigmoid(x))", "SigmoidBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return sigmoid(x);
     }},
    {R"(relu(x))", "ReluBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return relu(x);
     }},
    {R"(erf(x))", "ErfBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return erf(x);
     }},
    {R"(erfc(x))", "ErfcBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return erfc(x);
     }},
    {R"(erfinv(x))", "ErfinvBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return erfinv(x);
     }},
    {R"(lgamma(x))", "LgammaBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return lgamma(x);
     }},
    {R"(digamma(x))", "DigammaBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return digamma(x);
     }},
    {R"(floor(x))", "FloorBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return floor(x);
     }},
    {R"(ceil(x))", "CeilBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return ceil(x);
     }},
    {R"(round(x))", "RoundBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return round(x);
     }},
    {R"(trunc(x))", "TruncBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return trunc(x);
     }},
    {R"(frac(x))", "FracBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return frac(x);
     }},
    {R"(sign(x))", "SignBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return sign(x);
     }},
    {R"(sgn(x))", "SgnBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return sgn(x);
     }},
    {R"(angle(x))", "AngleBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return angle(x);
     }},
    {R"(add(x, y))", "AddBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return add(x, y);
     }},
    {R"(sub(x, y))", "SubBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return sub(x, y);
     }},
    {R"(mul(x, y))", "MulBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return mul(x, y);
     }},
    {R"(div(x, y))", "DivBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return div(x, y);
     }},
    {R"(remainder(x, y))", "RemainderBackward1", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return remainder(x, y);
     }},
    {R"(fmod(x, y))", "FmodBackward1", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return fmod(x, y);
     }},
    {R"(pow(x, y))", "PowBackward1", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return pow(x, y);
     }},
    {R"(maximum(x, y))", "MaximumBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return maximum(x, y);
     }},
    {R"(minimum(x, y))", "MinimumBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return minimum(x, y);
     }},
    {R"(fmax(x, y))", "FmaxBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return fmax(x, y);
     }},
    {R"(fmin(x, y))", "FminBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return fmin(x, y);
     }},
    {R"(atan2(x, y))", "Atan2Backward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return atan2(x, y);
     }},
    {R"(hypot(x, y))", "HypotBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return hypot(x, y);
     }},
    {R"(copysign(x, y))", "CopysignBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return copysign(x, y);
     }},
    {R"(nextafter(x, y))", "NextafterBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return nextafter(x, y);
     }},
    {R"(logaddexp(x, y))", "LogaddexpBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return logaddexp(x, y);
     }},
    {R"(logaddexp2(x, y))", "Logaddexp2Backward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return logaddexp2(x, y);
     }},
    {R"(xlogy(x, y))", "XlogyBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return xlogy(x, y);
     }},
    {R"(x + 1)", "AddBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return x + 1;
     }},
    {R"(x - 1)", "SubBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return x - 1;
     }},
    {R"(x * 2)", "MulBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return x * 2;
     }},
    {R"(x / 2)", "DivBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return x / 2;
     }},
    {R"(pow(x, 2))", "PowBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return pow(x, 2);
     }},
    {R"(pow(2, x))", "PowBackward2", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return pow(2, x);
     }},
    {R"(remainder(x, 2))", "RemainderBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return remainder(x, 2);
     }},
    {R"(fmod(x, 2))", "FmodBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return fmod(x, 2);
     }},
    {R"(polygamma(2, x))", "PolygammaBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return polygamma(2, x);
     }},
    {R"(x.clone())", "CloneBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return x.clone();
     }},
    {R"(x.to(float32))", "ToCopyBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return x.to(float32);
     }},
    {R"(x.t().contiguous())", "CloneBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return x.t().contiguous();
     }},
    {R"(x.t())", "TBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return x.t();
     }},
    {R"(x[0])", "SelectBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return x[0];
     }},
    {R"(x.index({Slice(), Slice(1)}))", "SliceBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return x.index({Slice(), Slice(1)});
     }},
    {R"(x.view(-1))", "ViewBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return x.view(-1);
     }},
    {R"(x.view({3, 2}))", "ViewBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return x.view({3, 2});
     }},
    {R"(x.reshape({-1}))", "ViewBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return x.reshape({-1});
     }},
    {R"(x.t().reshape({-1}))", "UnsafeViewBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return x.t().reshape({-1});
     }},
    {R"(x.transpose(0, 1))", "TransposeBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return x.transpose(0, 1);
     }},
    {R"(x.permute({1, 0}))", "PermuteBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return x.permute({1, 0});
     }},
    {R"(x.unsqueeze(0))", "UnsqueezeBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return x.unsqueeze(0);
     }},
    {R"(x.unsqueeze(0).squeeze())", "SqueezeBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return x.unsqueeze(0).squeeze();
     }},
    {R"(x.unsqueeze(0).squeeze(0))", "SqueezeBackward1", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return x.unsqueeze(0).squeeze(0);
     }},
    {R"(x.narrow(0, 0, 1).expand({4, 3}))", "ExpandBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return x.narrow(0, 0, 1).expand({4, 3});
     }},
    {R"(x.narrow(0, 0, 1))", "SliceBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return x.narrow(0, 0, 1);
     }},
    {R"(x.select(0, 0))", "SelectBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return x.select(0, 0);
     }},
    {R"(x.diagonal())", "DiagonalBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return x.diagonal();
     }},
    {R"(x.unfold(1, 2, 1))", "UnfoldBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return x.unfold(1, 2, 1);
     }},
    {R"(x.split(1)[0])", "SplitBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return x.split(1)[0];
     }},
    {R"(x.unbind()[0])", "UnbindBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return x.unbind()[0];
     }},
    {R"(x.chunk(2)[0])", "SplitBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return x.chunk(2)[0];
     }},
    {R"(x.flatten())", "ViewBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return x.flatten();
     }},
    {R"(x.detach().requires_grad_().movedim(0, 1))", "PermuteBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return x.detach().requires_grad_().movedim(0, 1);
     }},
    {R"(x.as_strided({2}, {1}))", "AsStridedBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return x.as_strided({2}, {1});
     }},
    {R"(x.view_as(y))", "ViewBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return x.view_as(y);
     }},
    {R"(x.expand_as(y))", "ExpandBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return x.expand_as(y);
     }},
    {R"(cat({x, y}))", "CatBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return cat({x, y});
     }},
    {R"(stack({x, y}))", "StackBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return stack({x, y});
     }},
    {R"(tril(x))", "TrilBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return tril(x);
     }},
    {R"(triu(x))", "TriuBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return triu(x);
     }},
    {R"(diag(v))", "DiagEmbedBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return diag(v);
     }},
    {R"(diag(x))", "DiagonalBackward0_copy", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return diag(x);
     }},
    {R"(trace(s))", "TraceBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return trace(s);
     }},
    {R"(flip(x, {0}))", "FlipBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return flip(x, {0});
     }},
    {R"(roll(x, 1))", "RollBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return roll(x, 1);
     }},
    {R"(x.repeat({2, 1}))", "RepeatBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return x.repeat({2, 1});
     }},
    {R"(repeat_interleave(x, 2))", "ViewBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return repeat_interleave(x, 2);
     }},
    {R"(pad(x, {1, 1}))", "ConstantPadNdBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return pad(x, {1, 1});
     }},
    {R"(pad(x, {1, 1}, {.mode = "reflect"}))", "ReflectionPad1DBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return pad(x, {1, 1}, {.mode = "reflect"});
     }},
    {R"(pad(x, {1, 1}, {.mode = "replicate"}))", "ReplicationPad1DBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return pad(x, {1, 1}, {.mode = "replicate"});
     }},
    {R"(gather(x, 1, i))", "GatherBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return gather(x, 1, i);
     }},
    {R"(index_select(x, 1, k))", "IndexSelectBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return index_select(x, 1, k);
     }},
    {R"(take(x, k))", "TakeBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return take(x, k);
     }},
    {R"(masked_select(x, m))", "MaskedSelectBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return masked_select(x, m);
     }},
    {R"(x.index({Slice(), k}))", "IndexBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return x.index({Slice(), k});
     }},
    {R"(x.index({m}))", "IndexBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return x.index({m});
     }},
    {R"(scatter(x, 1, i, y))", "ScatterBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return scatter(x, 1, i, y);
     }},
    {R"(scatter(x, 1, i, 2.0))", "ScatterBackward1", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return scatter(x, 1, i, 2.0);
     }},
    {R"(scatter_add(x, 1, i, y))", "ScatterAddBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return scatter_add(x, 1, i, y);
     }},
    {R"(scatter_reduce(x, 1, i, y, "prod"))", "ScatterReduceBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return scatter_reduce(x, 1, i, y, "prod");
     }},
    {R"(index_add(x, 1, k, x.narrow(1, 0, 2)))", "IndexAddBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return index_add(x, 1, k, x.narrow(1, 0, 2));
     }},
    {R"(index_copy(x, 1, k, x.narrow(1, 0, 2)))", "IndexCopyBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return index_copy(x, 1, k, x.narrow(1, 0, 2));
     }},
    {R"(index_fill(x, 1, k, 2.0))", "IndexFillBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return index_fill(x, 1, k, 2.0);
     }},
    {R"(masked_fill(x, m, 2.0))", "MaskedFillBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return masked_fill(x, m, 2.0);
     }},
    {R"(masked_fill(x, m, x.sum()))", "MaskedFillBackward1", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return masked_fill(x, m, x.sum());
     }},
    {R"(where(m, x, y))", "WhereBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return where(m, x, y);
     }},
    {R"(x.clone().index_put_({r, k}, y[0].narrow(0, 0, 2)))", "IndexPutBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return x.clone().index_put_({r, k}, y[0].narrow(0, 0, 2));
     }},
    {R"(take_along_dim(x, i, 1))", "GatherBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return take_along_dim(x, i, 1);
     }},
    {R"((x * 1).zero_())", "ZeroBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return (x * 1).zero_();
     }},
    {R"((x * 1).fill_(2))", "FillBackward2", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return (x * 1).fill_(2);
     }},
    {R"((x * 1).copy_(y))", "CopyBackwards", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return (x * 1).copy_(y);
     }},
    {R"((x * 1).add_(y))", "AddBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return (x * 1).add_(y);
     }},
    {R"((x * 1).exp_())", "ExpBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return (x * 1).exp_();
     }},
    {R"(sum(x))", "SumBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return sum(x);
     }},
    {R"(sum(x, {1}))", "SumBackward1", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return sum(x, {1});
     }},
    {R"(mean(x))", "MeanBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return mean(x);
     }},
    {R"(mean(x, {1}))", "MeanBackward1", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return mean(x, {1});
     }},
    {R"(prod(x))", "ProdBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return prod(x);
     }},
    {R"(prod(x, 1))", "ProdBackward1", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return prod(x, 1);
     }},
    {R"(max(x))", "MaxBackward1", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return max(x);
     }},
    {R"(min(x))", "MinBackward1", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return min(x);
     }},
    {R"(std::get<0>(max(x, 1)))", "MaxBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return std::get<0>(max(x, 1));
     }},
    {R"(std::get<0>(min(x, 1)))", "MinBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return std::get<0>(min(x, 1));
     }},
    {R"(amax(x, {1}))", "AmaxBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return amax(x, {1});
     }},
    {R"(amin(x, {1}))", "AminBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return amin(x, {1});
     }},
    {R"(var(x))", "VarBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return var(x);
     }},
    {R"(std(x))", "StdBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return std(x);
     }},
    {R"(norm(x))", "LinalgVectorNormBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return norm(x);
     }},
    {R"(cumsum(x, 1))", "CumsumBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return cumsum(x, 1);
     }},
    {R"(cumprod(x, 1))", "CumprodBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return cumprod(x, 1);
     }},
    {R"(logsumexp(x, 1))", "LogsumexpBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return logsumexp(x, 1);
     }},
    {R"(std::get<0>(sort(x)))", "SortBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return std::get<0>(sort(x));
     }},
    {R"(std::get<0>(topk(x, 2)))", "TopkBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return std::get<0>(topk(x, 2));
     }},
    {R"(mm(x, x.t()))", "MmBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return mm(x, x.t());
     }},
    {R"(matmul(x, x.t()))", "MmBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return matmul(x, x.t());
     }},
    {R"(matmul(x, v))", "MvBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return matmul(x, v);
     }},
    {R"(mv(x, v))", "MvBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return mv(x, v);
     }},
    {R"(dot(v, v))", "DotBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return dot(v, v);
     }},
    {R"(bmm(b, b))", "BmmBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return bmm(b, b);
     }},
    {R"(addmm(s, x, x.t()))", "AddmmBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return addmm(s, x, x.t());
     }},
    {R"(baddbmm(b, b, b))", "BaddbmmBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return baddbmm(b, b, b);
     }},
    {R"(outer(v, v))", "MulBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return outer(v, v);
     }},
    {R"(linear(x, w))", "MmBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return linear(x, w);
     }},
    {R"(linear(x, w, u))", "AddmmBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return linear(x, w, u);
     }},
    {R"(addcmul(x, x, y))", "AddcmulBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return addcmul(x, x, y);
     }},
    {R"(addcdiv(x, x, y))", "AddcdivBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return addcdiv(x, x, y);
     }},
    {R"(lerp(x, y, 0.5))", "LerpBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return lerp(x, y, 0.5);
     }},
    {R"(lerp(x, y, y))", "LerpBackward1", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return lerp(x, y, y);
     }},
    {R"(clamp(x, ClampOptions{.min = 0.0, .max = 1.0}))", "ClampBackward1", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return clamp(x, ClampOptions{.min = 0.0, .max = 1.0});
     }},
    {R"(clamp(x, ClampOptions{.min = 0.0}))", "ClampBackward1", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return clamp(x, ClampOptions{.min = 0.0});
     }},
    {R"(cross(x, y, 1))", "LinalgCrossBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return cross(x, y, 1);
     }},
    {R"(cdist(x, y))", "CdistBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return cdist(x, y);
     }},
    {R"(softmax(x, 1))", "SoftmaxBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return softmax(x, 1);
     }},
    {R"(log_softmax(x, 1))", "LogSoftmaxBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return log_softmax(x, 1);
     }},
    {R"(gelu(x))", "GeluBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return gelu(x);
     }},
    {R"(elu(x))", "EluBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return elu(x);
     }},
    {R"(celu(x))", "CeluBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return celu(x);
     }},
    {R"(selu(x))", "EluBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return selu(x);
     }},
    {R"(leaky_relu(x))", "LeakyReluBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return leaky_relu(x);
     }},
    {R"(softplus(x))", "SoftplusBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return softplus(x);
     }},
    {R"(silu(x))", "SiluBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return silu(x);
     }},
    {R"(mish(x))", "MishBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return mish(x);
     }},
    {R"(hardtanh(x))", "HardtanhBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return hardtanh(x);
     }},
    {R"(hardswish(x))", "HardswishBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return hardswish(x);
     }},
    {R"(hardsigmoid(x))", "HardsigmoidBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return hardsigmoid(x);
     }},
    {R"(relu6(x))", "HardtanhBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return relu6(x);
     }},
    {R"(logsigmoid(x))", "LogSigmoidBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return logsigmoid(x);
     }},
    {R"(softshrink(x))", "SoftshrinkBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return softshrink(x);
     }},
    {R"(hardshrink(x))", "HardshrinkBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return hardshrink(x);
     }},
    {R"(tanhshrink(x))", "SubBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return tanhshrink(x);
     }},
    {R"(softsign(x))", "DivBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return softsign(x);
     }},
    {R"(threshold(x, 0.1, 2.0))", "ThresholdBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return threshold(x, 0.1, 2.0);
     }},
    {R"(prelu(x, v.narrow(0, 0, 1)))", "PreluKernelBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return prelu(x, v.narrow(0, 0, 1));
     }},
    {R"(glu(x.t()))", "GluBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return glu(x.t());
     }},
    {R"(layer_norm(x, {3}))", "NativeLayerNormBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return layer_norm(x, {3});
     }},
    {R"(group_norm(p, 2))", "NativeGroupNormBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return group_norm(p, 2);
     }},
    {R"(conv2d(p, q))", "ConvolutionBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return conv2d(p, q);
     }},
    {R"(max_pool2d(p, 2))", "MaxPool2DWithIndicesBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return max_pool2d(p, 2);
     }},
    {R"(avg_pool2d(p, 2))", "AvgPool2DBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return avg_pool2d(p, 2);
     }},
    {R"(adaptive_avg_pool2d(p, 2))", "AdaptiveAvgPool2DBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return adaptive_avg_pool2d(p, 2);
     }},
    {R"(interpolate(p, {.scale_factor = 2}))", "UpsampleNearest2DBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return interpolate(p, {.scale_factor = 2});
     }},
    {R"(pixel_shuffle(p, 2))", "PixelShuffleBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return pixel_shuffle(p, 2);
     }},
    {R"(unfold(p, 2))", "Im2ColBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return unfold(p, 2);
     }},
    {R"(mse_loss(x, y))", "MseLossBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return mse_loss(x, y);
     }},
    {R"(l1_loss(x, y))", "MeanBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return l1_loss(x, y);
     }},
    {R"(smooth_l1_loss(x, y))", "SmoothL1LossBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return smooth_l1_loss(x, y);
     }},
    {R"(huber_loss(x, y))", "HuberLossBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return huber_loss(x, y);
     }},
    {R"(cross_entropy(x, k))", "NllLossBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return cross_entropy(x, k);
     }},
    {R"(nll_loss(x, k))", "NllLossBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return nll_loss(x, k);
     }},
    {R"(binary_cross_entropy(h, h.detach()))", "BinaryCrossEntropyBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return binary_cross_entropy(h, h.detach());
     }},
    {R"(binary_cross_entropy_with_logits(x, h.detach()))", "BinaryCrossEntropyWithLogitsBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return binary_cross_entropy_with_logits(x, h.detach());
     }},
    {R"(multi_margin_loss(x, k))", "MultiMarginLossBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return multi_margin_loss(x, k);
     }},
    {R"(multilabel_margin_loss(x, l))", "MultilabelMarginLossBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return multilabel_margin_loss(x, l);
     }},
    {R"(soft_margin_loss(x, y.detach()))", "SoftMarginLossBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return soft_margin_loss(x, y.detach());
     }},
    {R"(kl_div(x, h.detach(), {.reduction = "sum"}))", "SumBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return kl_div(x, h.detach(), {.reduction = "sum"});
     }},
    {R"(bernoulli(h))", "BernoulliBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return bernoulli(h);
     }},
    {R"((x * 1).normal_())", "NormalBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return (x * 1).normal_();
     }},
    {R"((x * 1).random_(3))", "RandomBackward1", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return (x * 1).random_(3);
     }},
    {R"(div(x, y, {.rounding_mode = "trunc"}))", "DivBackward2", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return div(x, y, {.rounding_mode = "trunc"});
     }},
    {R"(nan_to_num(x))", "NanToNumBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return nan_to_num(x);
     }},
    {R"(diag_embed(v))", "DiagEmbedBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return diag_embed(v);
     }},
    {R"(tile(x, {2}))", "RepeatBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return tile(x, {2});
     }},
    {R"(x.split({1, 2}, 1)[0])", "SplitWithSizesBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return x.split({1, 2}, 1)[0];
     }},
    {R"(x.unsqueeze(0).unsqueeze(2).squeeze({0, 2}))", "SqueezeBackward2", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return x.unsqueeze(0).unsqueeze(2).squeeze({0, 2});
     }},
    {R"(complex(x, y))", "ComplexBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return complex(x, y);
     }},
    {R"(polar(x, y))", "PolarBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return polar(x, y);
     }},
    {R"(view_as_real(complex(x, y)))", "ViewAsRealBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return view_as_real(complex(x, y));
     }},
    {R"(complex(x, y).real())", "SelectBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return complex(x, y).real();
     }},
    {R"(complex(x, y).imag())", "SelectBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return complex(x, y).imag();
     }},
    {R"(complex(x, y).conj())", "ConjBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return complex(x, y).conj();
     }},
    {R"(complex(x, y).abs())", "AbsBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return complex(x, y).abs();
     }},
    {R"(view_as_complex(s))", "ViewAsComplexBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return view_as_complex(s);
     }},
    {R"(tensordot(x, y))", "ViewBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return tensordot(x, y);
     }},
    {R"(kron(x, y))", "UnsafeViewBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return kron(x, y);
     }},
    {R"(addmv(u.narrow(0, 0, 2), x, v))", "AddmvBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return addmv(u.narrow(0, 0, 2), x, v);
     }},
    {R"(rrelu(x, {.training = true}))", "RreluWithNoiseBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return rrelu(x, {.training = true});
     }},
    {R"(softmin(x, 1))", "SoftmaxBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return softmin(x, 1);
     }},
    {R"(normalize(x))", "DivBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return normalize(x);
     }},
    {R"(bilinear(x, x, z))", "ViewBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return bilinear(x, x, z);
     }},
    {R"(embedding(k, w))", "EmbeddingBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return embedding(k, w);
     }},
    {R"(embedding_bag(i, w))", "EmbeddingBagBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return embedding_bag(i, w);
     }},
    {R"(dropout(x, {.p = 0.5}))", "MulBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return dropout(x, {.p = 0.5});
     }},
    {R"(batch_norm(x, Tensor(), Tensor(), {.training = true}))", "NativeBatchNormBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return batch_norm(x, Tensor(), Tensor(), {.training = true});
     }},
    {R"(instance_norm(p))", "ViewBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return instance_norm(p);
     }},
    {R"(rms_norm(x, {3}))", "MulBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return rms_norm(x, {3});
     }},
    {R"(local_response_norm(p, 2))", "DivBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return local_response_norm(p, 2);
     }},
    {R"(conv1d(p[0], p[0]))", "ConvolutionBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return conv1d(p[0], p[0]);
     }},
    {R"(conv_transpose2d(p, q.transpose(0, 1)))", "ConvolutionBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return conv_transpose2d(p, q.transpose(0, 1));
     }},
    {R"(conv3d(d, d))", "ConvolutionBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return conv3d(d, d);
     }},
    {R"(max_pool1d(p[0], 2))", "SqueezeBackward1", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return max_pool1d(p[0], 2);
     }},
    {R"(max_pool3d(d, 2))", "MaxPool3DWithIndicesBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return max_pool3d(d, 2);
     }},
    {R"(avg_pool1d(p[0], 2))", "SqueezeBackward1", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return avg_pool1d(p[0], 2);
     }},
    {R"(avg_pool3d(d, 2))", "AvgPool3DBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return avg_pool3d(d, 2);
     }},
    {R"(lp_pool2d(p, 2, 2))", "PowBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return lp_pool2d(p, 2, 2);
     }},
    {R"(adaptive_avg_pool1d(p[0], 2))", "SqueezeBackward1", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return adaptive_avg_pool1d(p[0], 2);
     }},
    {R"(adaptive_avg_pool3d(d, 1))", "MeanBackward1", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return adaptive_avg_pool3d(d, 1);
     }},
    {R"(adaptive_avg_pool2d(p, 1))", "MeanBackward1", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return adaptive_avg_pool2d(p, 1);
     }},
    {R"(adaptive_avg_pool3d(d, 2))", "AdaptiveAvgPool3DBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return adaptive_avg_pool3d(d, 2);
     }},
    {R"(adaptive_max_pool1d(p[0], 2))", "SqueezeBackward1", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return adaptive_max_pool1d(p[0], 2);
     }},
    {R"(adaptive_max_pool2d(p, 2))", "AdaptiveMaxPool2DBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return adaptive_max_pool2d(p, 2);
     }},
    {R"(adaptive_max_pool3d(d, 2))", "AdaptiveMaxPool3DBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return adaptive_max_pool3d(d, 2);
     }},
    {R"(pixel_unshuffle(p, 2))", "PixelUnshuffleBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return pixel_unshuffle(p, 2);
     }},
    {R"(channel_shuffle(p, 2))", "ChannelShuffleBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return channel_shuffle(p, 2);
     }},
    {R"(fold(unfold(p, 2), {4, 4}, 2))", "Col2ImBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return fold(unfold(p, 2), {4, 4}, 2);
     }},
    {R"(pad(p, {1, 1, 1, 1}, {.mode = "reflect"}))", "ReflectionPad2DBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return pad(p, {1, 1, 1, 1}, {.mode = "reflect"});
     }},
    {R"(pad(p, {1, 1, 1, 1}, {.mode = "replicate"}))", "ReplicationPad2DBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return pad(p, {1, 1, 1, 1}, {.mode = "replicate"});
     }},
    {R"(pad(d, {1, 1, 1, 1, 1, 1}, {.mode = "reflect"}))", "ReflectionPad3DBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return pad(d, {1, 1, 1, 1, 1, 1}, {.mode = "reflect"});
     }},
    {R"(pad(d, {1, 1, 1, 1, 1, 1}, {.mode = "replicate"}))", "ReplicationPad3DBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return pad(d, {1, 1, 1, 1, 1, 1}, {.mode = "replicate"});
     }},
    {R"(nll_loss(p, n))", "NllLoss2DBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return nll_loss(p, n);
     }},
    {R"(cross_entropy(p, n))", "NllLoss2DBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return cross_entropy(p, n);
     }},
    {R"(poisson_nll_loss(x, y))", "MeanBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return poisson_nll_loss(x, y);
     }},
    {R"(margin_ranking_loss(x, y, h))", "MeanBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return margin_ranking_loss(x, y, h);
     }},
    {R"(hinge_embedding_loss(x, m.to(float64)))", "MeanBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return hinge_embedding_loss(x, m.to(float64));
     }},
    {R"(triplet_margin_loss(x, y, h))", "MeanBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return triplet_margin_loss(x, y, h);
     }},
    {R"(cosine_similarity(x, y))", "SumBackward1", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return cosine_similarity(x, y);
     }},
    {R"(cosine_embedding_loss(x, y, k))", "MeanBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return cosine_embedding_loss(x, y, k);
     }},
    {R"(gaussian_nll_loss(x, y, h))", "MeanBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return gaussian_nll_loss(x, y, h);
     }},
    {R"(scaled_dot_product_attention(b.unsqueeze(0), b.unsqueeze(0), b.unsqueeze(0)))", "ScaledDotProductFlashAttentionForCpuBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return scaled_dot_product_attention(b.unsqueeze(0), b.unsqueeze(0), b.unsqueeze(0));
     }},
    {R"(einsum("ij,kj->ik", x, y))", "ViewBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return einsum("ij,kj->ik", x, y);
     }},
    {R"((x * 1).masked_fill_(m, 0.0))", "MaskedFillBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return (x * 1).masked_fill_(m, 0.0);
     }},
    {R"((x * 1).bernoulli_(0.5))", "BernoulliBackward2", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return (x * 1).bernoulli_(0.5);
     }},
    {R"((x * 1).bernoulli_(h))", "BernoulliBackward1", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return (x * 1).bernoulli_(h);
     }},
    {R"((x * 1).uniform_())", "UniformBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return (x * 1).uniform_();
     }},
    {R"((x * 1).exponential_())", "ExponentialBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return (x * 1).exponential_();
     }},
    {R"((x * 1).cauchy_())", "CauchyBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return (x * 1).cauchy_();
     }},
    {R"((x * 1).log_normal_())", "LogNormalBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return (x * 1).log_normal_();
     }},
    {R"((x * 1).geometric_(0.5))", "GeometricBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return (x * 1).geometric_(0.5);
     }},
    {R"((x * 1).random_())", "RandomBackward2", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return (x * 1).random_();
     }},
    {R"((x * 1).random_(1, 3))", "RandomBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return (x * 1).random_(1, 3);
     }},
    {R"((x * 1).fill_(v[0]))", "FillBackward3", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return (x * 1).fill_(v[0]);
     }},
    {R"(index_fill(x, 1, k, v[0]))", "IndexFillBackward1", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return index_fill(x, 1, k, v[0]);
     }},
    {R"(clamp(x, ClampTensorOptions{.min = y, .max = h}))", "ClampBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return clamp(x, ClampTensorOptions{.min = y, .max = h});
     }},
    {R"((x * 1).eq_(y))", "EqBackward1", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return (x * 1).eq_(y);
     }},
    {R"((x * 1).lt_(y))", "LtBackward1", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return (x * 1).lt_(y);
     }},
    {R"(elu_(x * 1))", "EluBackward1", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return elu_(x * 1);
     }},
    {R"(leaky_relu_(x * 1))", "LeakyReluBackward1", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return leaky_relu_(x * 1);
     }},
    {R"(celu_(x * 1))", "CeluBackward1", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return celu_(x * 1);
     }},
    {R"(threshold_(x * 1, 0.1, 2.0))", "ThresholdBackward1", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return threshold_(x * 1, 0.1, 2.0);
     }},
    {R"(interpolate(p[0], {.scale_factor = 2, .mode = "nearest"}))", "UpsampleNearest1DBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return interpolate(p[0], {.scale_factor = 2, .mode = "nearest"});
     }},
    {R"(interpolate(p, {.scale_factor = 2, .mode = "nearest"}))", "UpsampleNearest2DBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return interpolate(p, {.scale_factor = 2, .mode = "nearest"});
     }},
    {R"(interpolate(d, {.scale_factor = 2, .mode = "nearest"}))", "UpsampleNearest3DBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return interpolate(d, {.scale_factor = 2, .mode = "nearest"});
     }},
    {R"(interpolate(p[0], {.scale_factor = 2, .mode = "nearest-exact"}))", "UpsampleNearestExact1DBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return interpolate(p[0], {.scale_factor = 2, .mode = "nearest-exact"});
     }},
    {R"(interpolate(p, {.scale_factor = 2, .mode = "nearest-exact"}))", "UpsampleNearestExact2DBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return interpolate(p, {.scale_factor = 2, .mode = "nearest-exact"});
     }},
    {R"(interpolate(d, {.scale_factor = 2, .mode = "nearest-exact"}))", "UpsampleNearestExact3DBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return interpolate(d, {.scale_factor = 2, .mode = "nearest-exact"});
     }},
    {R"(interpolate(p[0], {.scale_factor = 2, .mode = "linear"}))", "UpsampleLinear1DBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return interpolate(p[0], {.scale_factor = 2, .mode = "linear"});
     }},
    {R"(interpolate(p, {.scale_factor = 2, .mode = "bilinear"}))", "UpsampleBilinear2DBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return interpolate(p, {.scale_factor = 2, .mode = "bilinear"});
     }},
    {R"(interpolate(p, {.scale_factor = 2, .mode = "bicubic"}))", "UpsampleBicubic2DBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return interpolate(p, {.scale_factor = 2, .mode = "bicubic"});
     }},
    {R"(interpolate(d, {.scale_factor = 2, .mode = "trilinear"}))", "UpsampleTrilinear3DBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return interpolate(d, {.scale_factor = 2, .mode = "trilinear"});
     }},
    {R"(interpolate(p, {.scale_factor = 2, .mode = "bilinear", .antialias = true}))", "UpsampleBilinear2DAaBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return interpolate(p, {.scale_factor = 2, .mode = "bilinear", .antialias = true});
     }},
    {R"(interpolate(p, {.scale_factor = 2, .mode = "bicubic", .antialias = true}))", "UpsampleBicubic2DAaBackward0", [](const Arguments& a) -> Tensor {
       TENON_NAMES(a);
       return interpolate(p, {.scale_factor = 2, .mode = "bicubic", .antialias = true});
     }},
    // clang-format on
};
