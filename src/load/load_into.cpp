#include "tenon/load_into.h"

#include "load/file_load.h"

namespace tenon {

namespace detail {

LoadIntoReport FileLoad::run() {
  plan_.collect();
  for (std::uint32_t i = 0; i < plan_.actions().size(); ++i) {
    if (plan_.actions()[i].leader == i) decide(plan_.actions()[i]);
  }
  plan_.judge();
  decide_again();
  find_shared();
  LoadIntoReport report = describe();
  check_budget(report);
  if (options_.dry_run) return report;
  Meter meter(options_.watch, report.bytes_read, "load_into: stopped, with the module untouched");
  meter_ = &meter;
  stage();
  plan_.stage();
  plan_.commit([this] { copy_into_place(); });
  try {
    meter.finish();
  } catch (...) {  // it is done
  }
  static_cast<nn::IncompatibleKeys&>(report) = std::move(plan_.result());
  return report;
}

}  // namespace detail

LoadIntoReport load_into(nn::Module& module, const Checkpoint& checkpoint,
                         const LoadIntoOptions& options) {
  return detail::FileLoad(module, checkpoint, options).run();
}

LoadIntoReport load_into(nn::Module& module, const std::string& path,
                         const LoadIntoOptions& options) {
  const Checkpoint file = Checkpoint::open(
      path,
      {.inert = options.inert, .follow_links = options.follow_links, .limits = options.limits});
  return load_into(module, file, options);
}

}  // namespace tenon
