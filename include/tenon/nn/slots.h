// Slots: the named places of a module where its parameters, buffers and children live. The member
// is the registration, and its name is the name in the state dict:
//
//   class Net : public nn::Layer {
//     nn::Child<nn::Linear> fc{this, "fc", 784, 10, {.bias = false}};
//     nn::Parameter scale{this, "scale"};
//     nn::Buffer seen{this, "seen", zeros({}), {.persistent = false}};
//   };
//
// A slot reads as what is in it: pass it where a tensor is wanted, use -> for a tensor's or a
// module's methods. Assigning puts something else in it, which is a change to the module: nobody
// may read it meanwhile. A slot that nothing was ever assigned to is as if it were not there; one
// that null was assigned to keeps its name and place and is passed over (PyTorch's None).
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/tensor.h"

namespace tenon {

// A base by which operators and functions of tensors are found for what is used as one.
struct FindsTensorFunctions {};

}  // namespace tenon

namespace tenon::nn {

class Module;

class TENON_API TensorSlot : public FindsTensorFunctions {
 public:
  enum class Kind : std::uint8_t { parameter, buffer };

  const std::string& name() const noexcept { return name_; }
  Module& owner() const noexcept { return *owner_; }
  Kind kind() const noexcept { return kind_; }
  // Whether it goes into state dicts. Parameters do.
  bool persistent() const noexcept { return persistent_; }
  // Whether something, or null, was assigned.
  bool registered() const noexcept { return registered_; }

  bool defined() const noexcept { return value_.defined(); }
  const Tensor& get() const noexcept { return value_; }
  operator const Tensor&() const noexcept { return value_; }
  const Tensor* operator->() const noexcept { return &value_; }
  const Tensor& operator*() const noexcept { return value_; }
  Tensor operator[](std::int64_t index) const { return value_[index]; }
  explicit operator bool() const noexcept { return defined(); }

  TensorSlot& operator=(const TensorSlot&) = delete;

 protected:
  TensorSlot(Module* owner, std::string_view name, Kind kind, bool persistent);
  TensorSlot(const TensorSlot& other);
  ~TensorSlot();

  // TypeError if a parameter is to hold what is none, ValueError for one that was calculated, or
  // for a name that is empty, has a dot in it, or is taken.
  void assign(Tensor value);

 private:
  friend class Module;
  friend class SlotEditor;

  std::string name_;
  Module* owner_;
  Tensor value_;
  Kind kind_;
  bool persistent_;
  bool registered_ = false;
  bool removed_ = false;  // it was registered once, and comes last when it is again
  bool dynamic_ = false;  // made by register_*, and the module's to delete
};

class TENON_API Parameter final : public TensorSlot {
 public:
  Parameter(Module* owner, std::string_view name)
      : TensorSlot(owner, name, Kind::parameter, true) {}
  // What is no parameter becomes one that requires grad (nn::make_parameter). Undefined is null.
  Parameter(Module* owner, std::string_view name, const Tensor& value);
  // A clone's: finds its module by the place it has in it.
  explicit Parameter(const Parameter& other) : TensorSlot(other) {}

  // What a module already trains may be trained by another: the tensor is shared (tied weights).
  Parameter& operator=(const Parameter& other) { return *this = other.get(); }
  Parameter& operator=(const Tensor& parameter);  // undefined is null
};

struct BufferOptions {
  bool persistent = true;
};

class TENON_API Buffer final : public TensorSlot {
 public:
  Buffer(Module* owner, std::string_view name, BufferOptions options = {})
      : TensorSlot(owner, name, Kind::buffer, options.persistent) {}
  Buffer(Module* owner, std::string_view name, const Tensor& value, BufferOptions options = {});
  explicit Buffer(const Buffer& other) : TensorSlot(other) {}

  Buffer& operator=(const Buffer& other) { return *this = other.get(); }
  Buffer& operator=(const Tensor& tensor);
};

namespace detail {

// How to copy a module, known where its class is: whoever names the class tells the module.
struct ExactType {
  const std::type_info* type;
  std::size_t size;
  std::shared_ptr<Module> (*copy)(const Module& module);
};
TENON_API void note_exact_type(Module& module, const ExactType& type);

template <class M>
concept Copyable = !std::is_abstract_v<M> && std::is_copy_constructible_v<M>;

template <class M>
void note_exact_type_of(M& module) {
  if constexpr (Copyable<M>) {
    static constexpr ExactType type{&typeid(M), sizeof(M),
                                    [](const Module& from) -> std::shared_ptr<Module> {
                                      return std::make_shared<M>(static_cast<const M&>(from));
                                    }};
    note_exact_type(module, type);
  }
}

// What forward of a Callable takes at a place.
template <class C, std::size_t I>
  requires(std::tuple_size_v<typename C::Args> > I)
using ArgumentOf = std::tuple_element_t<I, typename C::Args>;

// M::Options, or something nobody can write.
class NoOptions {
  NoOptions() = delete;
};
template <class M>
struct OptionsOf {
  using type = NoOptions;
};
template <class M>
  requires requires { typename M::Options; }
struct OptionsOf<M> {
  using type = typename M::Options;
};

}  // namespace detail

// A new module, ready to be put into a slot or a container: make<Linear>(3, 5, {.bias = false}).
template <class M, class... A>
  requires std::constructible_from<M, A...>
std::shared_ptr<M> make(A&&... args) {
  auto module = std::make_shared<M>(std::forward<A>(args)...);
  detail::note_exact_type_of<M>(*module);
  return module;
}
// Braces say nothing about their type, so each number of arguments before them has its own form.
template <class M>
std::shared_ptr<M> make(typename detail::OptionsOf<M>::type options) {
  return make<M, const typename detail::OptionsOf<M>::type&>(options);
}
template <class M, class A>
std::shared_ptr<M> make(A&& a, typename detail::OptionsOf<M>::type options) {
  return make<M, A, const typename detail::OptionsOf<M>::type&>(std::forward<A>(a), options);
}
template <class M, class A, class B>
std::shared_ptr<M> make(A&& a, B&& b, typename detail::OptionsOf<M>::type options) {
  return make<M, A, B, const typename detail::OptionsOf<M>::type&>(std::forward<A>(a),
                                                                   std::forward<B>(b), options);
}
template <class M, class A, class B, class C>
std::shared_ptr<M> make(A&& a, B&& b, C&& c, typename detail::OptionsOf<M>::type options) {
  return make<M, A, B, C, const typename detail::OptionsOf<M>::type&>(
      std::forward<A>(a), std::forward<B>(b), std::forward<C>(c), options);
}
template <class M, class A, class B, class C, class D>
std::shared_ptr<M> make(A&& a, B&& b, C&& c, D&& d, typename detail::OptionsOf<M>::type options) {
  return make<M, A, B, C, D, const typename detail::OptionsOf<M>::type&>(
      std::forward<A>(a), std::forward<B>(b), std::forward<C>(c), std::forward<D>(d), options);
}

// A list of sizes in braces, before the options or without them: make<Conv2d>(3, 64, {3, 5}). It is
// an array, Note [Braces with names].
template <class M, std::size_t N>
  requires std::constructible_from<M, Dims>
std::shared_ptr<M> make(const std::int64_t (&sizes)[N],
                        typename detail::OptionsOf<M>::type options) {
  return make<M>(Dims(sizes), std::move(options));
}
template <class M, std::size_t N>
  requires std::constructible_from<M, Dims>
std::shared_ptr<M> make(const std::int64_t (&sizes)[N]) {
  return make<M>(Dims(sizes));
}
template <class M, class A, std::size_t N>
  requires std::constructible_from<M, A, Dims>
std::shared_ptr<M> make(A&& a, const std::int64_t (&sizes)[N]) {
  return make<M>(std::forward<A>(a), Dims(sizes));
}
template <class M, class A, std::size_t N>
  requires std::constructible_from<M, A, Dims>
std::shared_ptr<M> make(A&& a, const std::int64_t (&sizes)[N],
                        typename detail::OptionsOf<M>::type options) {
  return make<M>(std::forward<A>(a), Dims(sizes), std::move(options));
}
template <class M, class A, class B, std::size_t N>
  requires std::constructible_from<M, A, B, Dims>
std::shared_ptr<M> make(A&& a, B&& b, const std::int64_t (&sizes)[N]) {
  return make<M>(std::forward<A>(a), std::forward<B>(b), Dims(sizes));
}
template <class M, class A, class B, std::size_t N>
  requires std::constructible_from<M, A, B, Dims>
std::shared_ptr<M> make(A&& a, B&& b, const std::int64_t (&sizes)[N],
                        typename detail::OptionsOf<M>::type options) {
  return make<M>(std::forward<A>(a), std::forward<B>(b), Dims(sizes), std::move(options));
}

// Sizes that are followed by something else.
template <class M, std::size_t N, std::size_t K>
  requires std::constructible_from<M, Dims, Dims>
std::shared_ptr<M> make(const std::int64_t (&first)[N], const std::int64_t (&second)[K]) {
  return make<M>(Dims(first), Dims(second));
}
template <class M, std::size_t N, std::size_t K>
  requires std::constructible_from<M, Dims, Dims>
std::shared_ptr<M> make(const std::int64_t (&first)[N], const std::int64_t (&second)[K],
                        typename detail::OptionsOf<M>::type options) {
  return make<M>(Dims(first), Dims(second), std::move(options));
}
template <class M, std::size_t N, class A>
  requires std::constructible_from<M, Dims, A>
std::shared_ptr<M> make(const std::int64_t (&sizes)[N], A&& a) {
  return make<M>(Dims(sizes), std::forward<A>(a));
}
template <class M, std::size_t N, class A>
  requires std::constructible_from<M, Dims, A>
std::shared_ptr<M> make(const std::int64_t (&sizes)[N], A&& a,
                        typename detail::OptionsOf<M>::type options) {
  return make<M>(Dims(sizes), std::forward<A>(a), std::move(options));
}

// Modules in a list, made in its order: make<Sequential>({make<Linear>(3, 5), make<ReLU>()}).
template <class M, std::size_t N>
  requires std::constructible_from<M, const std::vector<std::shared_ptr<Module>>&>
std::shared_ptr<M> make(const std::shared_ptr<Module> (&modules)[N]) {
  return make<M>(std::vector<std::shared_ptr<Module>>(modules, modules + N));
}

// Modules with names of their own: make<Sequential>({{"fc", make<Linear>(3, 5)}, ...}). An array
// too, Note [Braces with names], for a class with a constructor from a span of them.
using NamedModule = std::pair<std::string, std::shared_ptr<Module>>;
using NamedModuleList = std::span<const NamedModule>;
template <class M, std::size_t N>
  requires std::constructible_from<M, NamedModuleList>
std::shared_ptr<M> make(const NamedModule (&modules)[N]) {
  return make<M>(NamedModuleList(modules));
}

class TENON_API ChildSlot {
 public:
  const std::string& name() const noexcept { return name_; }
  Module& owner() const noexcept { return *owner_; }
  bool registered() const noexcept { return registered_; }
  bool defined() const noexcept { return module_ != nullptr; }
  const std::shared_ptr<Module>& module() const noexcept { return module_; }

  ChildSlot& operator=(const ChildSlot&) = delete;

 protected:
  ChildSlot(Module* owner, std::string_view name);
  ChildSlot(const ChildSlot& other);
  virtual ~ChildSlot();

  // Whether a module, or null, is of the class this place is for, and what that is called.
  virtual bool accepts(const Module* module) const = 0;
  virtual std::string class_name() const = 0;
  // ValueError for a bad or taken name and for a module that contains the owner, TypeError for one
  // of another class.
  void assign(std::shared_ptr<Module> module);
  [[noreturn]] void throw_null() const;

 private:
  friend class Module;
  friend class SlotEditor;

  std::string name_;
  Module* owner_;
  std::shared_ptr<Module> module_;
  bool registered_ = false;
  bool removed_ = false;
  bool dynamic_ = false;
};

TENON_API std::string class_name_of(const std::type_info& type);

// For a child that may be missing: Child<Sequential> downsample{this, "downsample", nn::absent}.
struct Absent {};
inline constexpr Absent absent{};

template <class M>
class Child final : public ChildSlot {
 public:
  using Options = typename detail::OptionsOf<M>::type;

  // A new M from the arguments of its constructor, the options, if it has some, in braces.
  template <class... A>
    requires std::constructible_from<M, A...>
  Child(Module* owner, std::string_view name, A&&... args) : ChildSlot(owner, name) {
    *this = make<M>(std::forward<A>(args)...);
  }
  Child(Module* owner, std::string_view name, Options options) : ChildSlot(owner, name) {
    *this = make<M>(std::move(options));
  }
  template <class A>
  Child(Module* owner, std::string_view name, A&& a, Options options) : ChildSlot(owner, name) {
    *this = make<M>(std::forward<A>(a), std::move(options));
  }
  template <class A, class B>
  Child(Module* owner, std::string_view name, A&& a, B&& b, Options options)
      : ChildSlot(owner, name) {
    *this = make<M>(std::forward<A>(a), std::forward<B>(b), std::move(options));
  }
  template <class A, class B, class C>
  Child(Module* owner, std::string_view name, A&& a, B&& b, C&& c, Options options)
      : ChildSlot(owner, name) {
    *this = make<M>(std::forward<A>(a), std::forward<B>(b), std::forward<C>(c), std::move(options));
  }
  template <class A, class B, class C, class D>
  Child(Module* owner, std::string_view name, A&& a, B&& b, C&& c, D&& d, Options options)
      : ChildSlot(owner, name) {
    *this = make<M>(std::forward<A>(a), std::forward<B>(b), std::forward<C>(c), std::forward<D>(d),
                    std::move(options));
  }
  // None yet: as if it were not there, until something is assigned.
  Child(Module* owner, std::string_view name)
    requires(!std::constructible_from<M>)
      : ChildSlot(owner, name) {}
  // Sizes in braces, which may be followed by something else.
  template <std::size_t N, std::size_t K>
    requires std::constructible_from<M, Dims, Dims>
  Child(Module* owner, std::string_view name, const std::int64_t (&first)[N],
        const std::int64_t (&second)[K])
      : ChildSlot(owner, name) {
    *this = make<M>(Dims(first), Dims(second));
  }
  template <std::size_t N, class A>
    requires std::constructible_from<M, Dims, A>
  Child(Module* owner, std::string_view name, const std::int64_t (&sizes)[N], A&& a)
      : ChildSlot(owner, name) {
    *this = make<M>(Dims(sizes), std::forward<A>(a));
  }
  template <std::size_t N>
    requires std::constructible_from<M, Dims>
  Child(Module* owner, std::string_view name, const std::int64_t (&sizes)[N])
      : ChildSlot(owner, name) {
    *this = make<M>(Dims(sizes));
  }
  template <std::size_t N>
    requires std::constructible_from<M, Dims>
  Child(Module* owner, std::string_view name, const std::int64_t (&sizes)[N], Options options)
      : ChildSlot(owner, name) {
    *this = make<M>(Dims(sizes), std::move(options));
  }
  template <class A, std::size_t N>
    requires std::constructible_from<M, A, Dims>
  Child(Module* owner, std::string_view name, A&& a, const std::int64_t (&sizes)[N])
      : ChildSlot(owner, name) {
    *this = make<M>(std::forward<A>(a), Dims(sizes));
  }
  template <class A, std::size_t N>
    requires std::constructible_from<M, A, Dims>
  Child(Module* owner, std::string_view name, A&& a, const std::int64_t (&sizes)[N],
        Options options)
      : ChildSlot(owner, name) {
    *this = make<M>(std::forward<A>(a), Dims(sizes), std::move(options));
  }
  template <class A, class B, std::size_t N>
    requires std::constructible_from<M, A, B, Dims>
  Child(Module* owner, std::string_view name, A&& a, B&& b, const std::int64_t (&sizes)[N])
      : ChildSlot(owner, name) {
    *this = make<M>(std::forward<A>(a), std::forward<B>(b), Dims(sizes));
  }
  template <class A, class B, std::size_t N>
    requires std::constructible_from<M, A, B, Dims>
  Child(Module* owner, std::string_view name, A&& a, B&& b, const std::int64_t (&sizes)[N],
        Options options)
      : ChildSlot(owner, name) {
    *this = make<M>(std::forward<A>(a), std::forward<B>(b), Dims(sizes), std::move(options));
  }
  template <std::size_t N>
    requires std::constructible_from<M, NamedModuleList>
  Child(Module* owner, std::string_view name, const NamedModule (&modules)[N])
      : ChildSlot(owner, name) {
    *this = make<M>(NamedModuleList(modules));
  }
  // One that is there already: several places may share it.
  template <std::derived_from<M> Actual>
  Child(Module* owner, std::string_view name, std::shared_ptr<Actual> module)
      : ChildSlot(owner, name) {
    *this = std::move(module);
  }
  // None, which has its name and place.
  Child(Module* owner, std::string_view name, std::nullptr_t) : ChildSlot(owner, name) {
    *this = nullptr;
  }
  // Nothing, as of an attribute that Python sets to None: until something is assigned it is as if
  // it were not there.
  Child(Module* owner, std::string_view name, Absent) : ChildSlot(owner, name) {}
  explicit Child(const Child& other) : ChildSlot(other) {}

  template <std::derived_from<M> Actual>
  Child& operator=(std::shared_ptr<Actual> module) {
    if (module) detail::note_exact_type_of<Actual>(*module);
    assign(std::move(module));
    return *this;
  }
  Child& operator=(const Child& other) {
    assign(other.module());
    return *this;
  }
  template <std::derived_from<M> Actual>
  Child& operator=(const Child<Actual>& other) {
    assign(other.module());
    return *this;
  }
  Child& operator=(std::nullptr_t) {
    assign(nullptr);
    return *this;
  }

  M* get() const noexcept { return static_cast<M*>(module().get()); }
  std::shared_ptr<M> share() const noexcept { return std::static_pointer_cast<M>(module()); }
  M* operator->() const { return &**this; }
  M& operator*() const {
    if (!defined()) throw_null();
    return *get();
  }
  explicit operator bool() const noexcept { return defined(); }
  // Of a container, its entries.
  template <class I>
  decltype(auto) operator[](I&& index) const {
    return (**this)[std::forward<I>(index)];
  }
  template <class C = M>
  auto begin() const {
    return static_cast<C&>(**this).begin();
  }
  template <class C = M>
  auto end() const {
    return static_cast<C&>(**this).end();
  }
  // Calls the module, hooks included.
  template <class... A>
  decltype(auto) operator()(A&&... args) const {
    return (**this)(std::forward<A>(args)...);
  }
  // Braces say nothing about their type: an argument in them, after one or more others, is what
  // forward takes there.
  template <class A, class C = M>
  decltype(auto) operator()(A&& a, const detail::ArgumentOf<C, 1>& last) const {
    return (**this)(std::forward<A>(a), last);
  }
  template <class A, class B, class C = M>
  decltype(auto) operator()(A&& a, B&& b, const detail::ArgumentOf<C, 2>& last) const {
    return (**this)(std::forward<A>(a), std::forward<B>(b), last);
  }
  template <class A, class B, class D, class C = M>
  decltype(auto) operator()(A&& a, B&& b, D&& c, const detail::ArgumentOf<C, 3>& last) const {
    return (**this)(std::forward<A>(a), std::forward<B>(b), std::forward<D>(c), last);
  }

 private:
  bool accepts(const Module* module) const override {
    return module == nullptr || dynamic_cast<const M*>(module) != nullptr;
  }
  std::string class_name() const override { return class_name_of(typeid(M)); }
};

}  // namespace tenon::nn
