// StateDict: names and what is under them, in order: what a module saves and loads.
//
//   StateDict state = load("model.pth", {.mmap = true});
//   for (auto& [name, tensor] : state.tensors()) tensor = tensor.to(bfloat16);
//   state.set("head.bias", zeros({10}));
//
// Most values are tensors; a module may have saved others under a name ("_extra_state").
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/tensor.h"
#include "tenon/value.h"

namespace tenon {

class TENON_API StateDict {
 public:
  using Entry = std::pair<std::string, Value>;

  StateDict();
  // A dict whose keys are text, with its metadata. TypeError for anything else; the message says
  // what it is, and where in it a state dict might be.
  StateDict(const Value& dict);
  StateDict(const StateDict& other);
  StateDict(StateDict&& other) noexcept;
  StateDict& operator=(StateDict other) noexcept;
  ~StateDict();
  // Whether that constructor takes it.
  static bool is_one(const Value& value) noexcept;

  std::size_t size() const noexcept { return entries_.size(); }
  bool empty() const noexcept { return entries_.empty(); }
  std::vector<Entry>::const_iterator begin() const noexcept { return entries_.begin(); }
  std::vector<Entry>::const_iterator end() const noexcept { return entries_.end(); }

  bool contains(std::string_view name) const { return find(name) != nullptr; }
  const Value* find(std::string_view name) const;  // null if there is none
  const Value& at(std::string_view name) const;    // IndexError if there is none
  // The place of a name among the entries; size() if there is none.
  std::size_t index_of(std::string_view name) const;
  Tensor tensor(std::string_view name) const;  // TypeError if it is something else
  // Replaces what is under the name, or puts it at the end.
  void set(std::string_view name, Value value);
  // Those for which it holds; how many. The others keep their order. It is asked about the entries
  // that there are at first, whatever it does to them; those that it adds stay. Error if it
  // destroys the dict.
  std::size_t erase_if(const std::function<bool(std::string_view name, const Value& value)>& gone);
  bool erase(std::string_view name);

  // What modules noted beside their tensors: a dict of dicts by the modules' names ("_metadata" in
  // PyTorch, and in safetensors "__metadata__"). None if there is none.
  const Value& metadata() const noexcept;
  void set_metadata(Value metadata);

  // The tensors alone, with their names. Assigning to one puts another under its name.
  class Slot : public Tensor {
   public:
    Slot(Tensor tensor, Value* place) noexcept : Tensor(std::move(tensor)), place_(place) {}
    Slot(const Slot&) = default;
    Slot& operator=(const Slot& other) { return *this = static_cast<const Tensor&>(other); }
    Slot& operator=(const Tensor& tensor) {
      Tensor::operator=(tensor);
      *place_ = tensor;
      return *this;
    }

   private:
    Value* place_ = nullptr;
  };
  class Tensors;
  Tensors tensors();

  // An OrderedDict with the metadata among its attributes; a plain dict if that is what it was.
  Value value() const;
  operator Value() const { return value(); }
  // As Python prints it: "OrderedDict({'weight': tensor(...)})".
  std::string repr() const { return value().repr(); }

 private:
  friend class HeldState;  // src/core/held_state.h

  // To be called first. Those who are using the entries keep them, and this goes on with a copy.
  void about_to_change();
  void exchange(StateDict& other) noexcept;
  void erase_named(const std::vector<std::string>& names);
  void reindex();
  std::uint32_t place_of(std::string_view name) const;

  std::vector<Entry> entries_;
  Value attributes_;
  bool ordered_ = true;
  struct Index;
  std::unique_ptr<Index> index_;
};

class StateDict::Tensors {
 public:
  struct Item {
    Item(std::string_view key, const Slot& slot) : name(key), tensor(slot) {}
    std::string_view name;
    Slot tensor;
  };
  class Iterator {
   public:
    using value_type = Item;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::input_iterator_tag;

    Iterator(std::vector<Entry>::iterator at, std::vector<Entry>::iterator end)
        : at_(at), end_(end) {
      skip();
    }
    Item& operator*() {
      item_.emplace(at_->first, Slot(at_->second.as_tensor(), &at_->second));
      return *item_;
    }
    Iterator& operator++() {
      ++at_;
      skip();
      return *this;
    }
    bool operator==(const Iterator& other) const noexcept { return at_ == other.at_; }

   private:
    void skip() {
      while (at_ != end_ && !at_->second.is_tensor()) ++at_;
    }
    std::vector<Entry>::iterator at_, end_;
    std::optional<Item> item_;
  };

  Iterator begin() const { return {entries_->begin(), entries_->end()}; }
  Iterator end() const { return {entries_->end(), entries_->end()}; }

 private:
  friend class StateDict;
  explicit Tensors(std::vector<Entry>& entries) noexcept : entries_(&entries) {}
  std::vector<Entry>* entries_;
};

TENON_API std::ostream& operator<<(std::ostream& out, const StateDict& state);

inline StateDict::Tensors StateDict::tensors() {
  about_to_change();
  return Tensors(entries_);
}

}  // namespace tenon
