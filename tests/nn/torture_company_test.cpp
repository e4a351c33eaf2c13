// Every function that runs user code while it goes through a state dict, a file, an optimizer, a
// graph, a list of tensors, or a dict of modules or parameters, with user code that does each of
// the deeds at each step. Calls end, normally or with an error, and what is left can be used.
// Sanitizers find the rest.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "support/temp_dir.h"
#include "support/threads.h"
#include "torture_company.h"

namespace tenon::nn {
namespace {

// Warnings call it, too.
class Warned {
 public:
  Warned() : before_(set_warning_handler([](const std::string&) { happen(); })) {}
  ~Warned() { set_warning_handler(before_); }
  Warned(const Warned&) = delete;
  Warned& operator=(const Warned&) = delete;

 private:
  WarningHandler before_;
};

// What files have, written while nothing happens.
void write_files(const TempDir& folder) {
  const StateDict state = chatty_state();
  save(state, folder.file("old.pth"));
  save(state, folder.file("old.safetensors"));
  save(plain_state(), folder.file("old_shards"), {.shard_size = 24});
  save(ones({2}), folder.file("target.pth"));
  save(StateDict(Value::dict({{"old", ones({2})}})), folder.file("target.safetensors"));
  StateDict net;
  for (const auto& [key, value] : TortureNet().state_dict({.keep_vars = true})) {
    net.set(key, value.is_tensor() ? Value(ChattyTensor::unwrap(value.as_tensor())) : value);
  }
  save(net, folder.file("net.pth"));
}

// Whatever it has become, it ends with an error at worst.
template <class F>
void check_usable(F&& use) {
  try {
    use();
  } catch (const Error&) {
  }
}
void check_in_order(Torture& t) {
  Company& company = *t.company;
  if (t.root) check_usable([&] { t.root->load_state_dict(t.root->state_dict()); });
  if (company.state) {
    (void)company.state->repr();
    check_usable([&] { (void)save_to_memory(*company.state); });
  }
  if (company.optimizer) {
    optim::Optimizer& one = *company.optimizer;
    check_usable([&] { one.load_state_dict(one.state_dict()); });
    check_usable([&] { one.step(); });
    (void)one.repr();
    one.zero_grad();
  }
  if (company.optimizer && company.scheduler) {
    check_usable([&] { company.scheduler->step(); });
    (void)company.scheduler->state_dict();
  }
  if (company.modules) check_usable([&] { (void)company.modules->state_dict(); });
  if (company.parameters) (void)company.parameters->repr();
  if (company.row) check_usable([&] { (void)(*company.row)(ones({2})); });
  if (company.file) check_usable([&] { (void)company.file->load(); });
}

constexpr int kMost = 400;  // steps of a walk: more would be a mistake in it

class CompanyTorture : public testing::Test {
 protected:
  CompanyTorture() {
    if (!has_unflatten("FlatChatty")) {
      register_unflatten("FlatChatty", [](const Flattened& parts, const Layout&) {
        happen();
        return make_tensor<FlatChatty>(parts.tensors.at(0).second);
      });
    }
    write_files(folder_);
  }

  // False if the user code was not called that often.
  bool run(const CompanyWalk& walk, const CompanyDeed& deed, int when) {
    Torture one;
    one.root = std::make_unique<TortureNet>();
    one.spare = make<TorturePart>();
    one.spare_parameter = make_parameter(full({2}, 11.5));
    one.company = std::make_shared<Company>();
    one.company->given = std::make_unique<Given>();
    one.deed = deed.act;
    one.walk = walk.run;
    one.when = when;
    walk.prepare(one);
    const void* const subject = walk.subject ? walk.subject(one) : nullptr;
    bool failed = false;
    std::string text;
    {
      const Warned warned;
      torture = &one;
      try {
        walk.run(one);
      } catch (const Error& error) {
        failed = true;
        text = error.what();
      } catch (const Deliberate&) {
        failed = true;
      }
      torture = nullptr;
    }
    if (!one.done) {
      EXPECT_FALSE(failed) << text;
      return false;
    }
    if (subject != nullptr && walk.subject(one) != subject) {
      EXPECT_TRUE(failed) << "what was at work was destroyed, and that is no error";
    }
    check_in_order(one);
    // Files appear whole or not at all.
    for (const char* name : {"target.pth", "target.safetensors"})
      EXPECT_NO_THROW((void)load(folder_.file(name)));
    return true;
  }

  void torment(const std::vector<CompanyWalk>& walks) {
    const Threads one(1);
    const auto deeds = company_deeds();
    // Each deed at every ninth step, and each at another one, unless everything is asked for.
    const bool all = std::getenv("TENON_TORTURE_ALL") != nullptr;
    const int stride = all ? 1 : 9;
    int number = 0;
    for (const CompanyWalk& walk : walks) {
      int steps = 0;
      for (const CompanyDeed& deed : deeds) {
        if ((walk.about & deed.about) == 0) continue;
        for (int when = 1 + ++number % std::min(stride, 3 * walk.least); when < kMost;
             when += stride) {
          SCOPED_TRACE(testing::Message() << walk.name << ": " << deed.name << " at step " << when);
          bool done = false;
          ASSERT_NO_THROW(done = run(walk, deed, when));
          if (HasFailure()) return;
          if (!done) break;
          steps = std::max(steps, when);
        }
      }
      // (A walk whose operators are none of the tensor's would test nothing.)
      EXPECT_GE(steps, walk.least) << walk.name;
      EXPECT_LT(steps, kMost - stride) << walk.name << " has steps that no deed was done at";
    }
  }

  TempDir folder_;
};

TEST_F(CompanyTorture, OfStateDictsTreesAndFiles) {
  std::filesystem::path path(folder_.file("x"));
  torment(state_walks(path.parent_path().string()));
}
TEST_F(CompanyTorture, OfOptimizersAndSchedulers) { torment(optimizer_walks()); }
TEST_F(CompanyTorture, OfGraphsAndLists) { torment(graph_walks()); }
TEST_F(CompanyTorture, OfClassesDerivedFromOptimizersAndSchedulers) { torment(subclass_walks()); }
TEST_F(CompanyTorture, OfOptionsThatAreUserDefinedTensors) { torment(option_walks()); }
TEST_F(CompanyTorture, OfOperatorsOfTheUsers) { torment(operator_walks()); }
TEST_F(CompanyTorture, OfDictsOfModulesAndParameters) { torment(dict_walks()); }

}  // namespace
}  // namespace tenon::nn
