// SchedulerState: what a schedule keeps, named once for writing and for reading.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/optim/named_values.h"
#include "tenon/value.h"

namespace tenon::optim::lr_scheduler {

class LRScheduler;

// A scheduler names its members to it, in the order of PyTorch's keys. While a state dict is
// written their values are taken; while one is read everything is looked at first, and members
// change only if all of it fits.
class TENON_API SchedulerState {
 public:
  // Looks at a value and gives what puts it into place. An Error it throws becomes one of the
  // load's problems.
  using Reader = std::function<std::function<void()>(const Value& value)>;
  enum class Need : std::uint8_t { always, if_there };  // or older files lack it

  bool reads() const noexcept { return saved_ != nullptr; }

  void value(std::string_view name, const Value& now, const Reader& reader,
             Need need = Need::always);
  void integer(std::string_view name, std::int64_t& member, Need need = Need::always);
  void real(std::string_view name, double& member, Need need = Need::always);  // finite
  void any_real(std::string_view name, double& member, Need need = Need::always);
  void boolean(std::string_view name, bool& member, Need need = Need::always);
  void text(std::string_view name, std::string& member, Need need = Need::always);
  // That many, if it is said.
  void reals(std::string_view name, std::vector<double>& member, std::optional<std::size_t> count,
             Need need = Need::always);
  void integers(std::string_view name, std::vector<std::int64_t>& member, Need need = Need::always);
  // Entries of other versions of PyTorch, kept for the next state dict: those whose name begins
  // with an underscore, and "verbose". Other entries that nobody names are problems.
  void others(NamedValues& kept);
  void parts(std::string_view name, const std::vector<LRScheduler*>& schedulers);

 private:
  friend class LRScheduler;

  SchedulerState() = default;                                          // writes
  explicit SchedulerState(const Value& saved, std::string path = "");  // reads

  // What names are left when all are visited.
  void finish();

  const Value* saved_ = nullptr;
  std::string path_;  // of a scheduler in another: "_schedulers[1]."
  std::vector<Value::Entry> written_;
  std::vector<std::string> visited_, problems_;
  std::vector<std::function<void()>> changes_;
  NamedValues* others_ = nullptr;
};

}  // namespace tenon::optim::lr_scheduler
