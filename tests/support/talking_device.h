// A device whose memory is the host's, and whose backend and kernels run a test's code before and
// after what they do.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "support/host_device.h"

namespace tenon {

class TalkingBackend final : public DeviceBackend {
 public:
  // What is run, for as long as this lives.
  class Steps {
   public:
    explicit Steps(std::function<void()> each) { step() = std::move(each); }
    ~Steps() { step() = nullptr; }
    Steps(const Steps&) = delete;
    Steps& operator=(const Steps&) = delete;
  };

  // The device; registered by the first call.
  static Device device() {
    static const DeviceType type = [] {
      const DeviceType fresh = register_device("talking", std::make_unique<TalkingBackend>());
      add_kernels(fresh);
      return fresh;
    }();
    return {type, 0};
  }
  static void say() {
    if (const auto now = step()) now();
  }

  int device_count() const override { return 1; }
  void* allocate(std::size_t nbytes, Device device) override {
    say();
    std::unique_ptr<void, decltype(&std::free)> memory(host_.allocate(nbytes, device), &std::free);
    say();
    return memory.release();
  }
  void deallocate(void* data, std::size_t nbytes, Device device) noexcept override {
    try {
      say();
    } catch (...) {  // the memory goes all the same
    }
    host_.deallocate(data, nbytes, device);
  }
  void copy(const Tensor& dst, const Tensor& src) override {
    say();
    host_.copy(dst, src);
    say();
  }
  void synchronize(Device) override { say(); }

 private:
  static std::function<void()>& step() {
    static std::function<void()> the_step;
    return the_step;
  }
  static Tensor on_host(const Tensor& t) { return t.defined() ? HostBackend::on_host(t) : t; }

  // The CPU's result in the device's memory.
  static void answer(const Tensor& out, const Tensor& result) {
    on_host(out).copy_(result);
    say();
  }
  static void add_kernels(DeviceType type) {
    set_kernel<op::add>(type, [](Tensor& out, const Tensor& a, const Tensor& b) {
      say();
      answer(out, on_host(a) + on_host(b));
    });
    set_kernel<op::add_>(type, [](const Tensor& a, const Tensor& b) {
      say();
      answer(a, on_host(a) + on_host(b));
    });
    set_kernel<op::BinaryOut<BinaryFunction::add>>(
        type, [](const Tensor& out, const Tensor& a, const Tensor& b) {
          say();
          answer(out, on_host(a) + on_host(b));
        });
    set_kernel<op::UnaryOut<UnaryFunction::exp>>(type, [](const Tensor& out, const Tensor& a) {
      say();
      answer(out, on_host(a).exp());
    });
    set_kernel<op::mul>(type, [](Tensor& out, const Tensor& a, const Tensor& b) {
      say();
      answer(out, on_host(a) * on_host(b));
    });
    set_kernel<op::exp>(type, [](Tensor& out, const Tensor& a) {
      say();
      answer(out, on_host(a).exp());
    });
    set_kernel<op::mm>(type, [](Tensor& out, const Tensor& a, const Tensor& b) {
      say();
      answer(out, on_host(a).mm(on_host(b)));
    });
    set_kernel<op::addmm>(type, [](Tensor& out, const Tensor& input, const Tensor& a,
                                   const Tensor& b, const Scalar& beta, const Scalar& alpha) {
      say();
      answer(out, on_host(input).addmm(on_host(a), on_host(b), {.beta = beta, .alpha = alpha}));
    });
    set_kernel<op::sum>(type, [](Tensor& out, const Tensor& a, const Dims& dim, bool keepdim,
                                 std::optional<DType> dtype) {
      say();
      answer(out, on_host(a).sum(dim, {.keepdim = keepdim, .dtype = dtype}));
    });
    set_kernel<op::fill_>(type, [](const Tensor& a, const Scalar& value) {
      say();
      on_host(a).fill_(value);
      say();
    });
    set_kernel<op::bernoulli_>(type, [](const Tensor& a, double p, const Generator& generator) {
      say();
      on_host(a).bernoulli_(p, generator);
      say();
    });
    set_kernel<op::zero_>(type, [](const Tensor& a) {
      say();
      on_host(a).zero_();
      say();
    });
  }

  HostBackend host_;
};

}  // namespace tenon
