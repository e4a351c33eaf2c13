#include "tenon/extend/ref.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "base/releases.h"

namespace tenon {
namespace {

class Counted final : public RefCounted {
 public:
  explicit Counted(int& alive) : alive_(alive) { ++alive_; }
  ~Counted() override { --alive_; }
  Ref<Counted> next;

 private:
  int& alive_;
};

TEST(Ref, LastReferenceDestroysTheObject) {
  int alive = 0;
  auto first = make_ref<Counted>(alive);
  Ref<Counted> second = first;
  EXPECT_EQ(first->use_count(), 2);
  first = nullptr;
  EXPECT_EQ(alive, 1);
  second = nullptr;
  EXPECT_EQ(alive, 0);
}

TEST(Ref, MovingDoesNotCount) {
  int alive = 0;
  auto first = make_ref<Counted>(alive);
  Ref<Counted> second = std::move(first);
  EXPECT_EQ(second->use_count(), 1);
  EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): that it is null is what is tested
}

TEST(Ref, ConvertsAsPointersDo) {
  int alive = 0;
  Ref<RefCounted> base = make_ref<Counted>(alive);
  EXPECT_EQ(base->use_count(), 1);
  base = nullptr;
  EXPECT_EQ(alive, 0);
}

TEST(Ref, AssigningToItselfKeepsTheObject) {
  int alive = 0;
  auto ref = make_ref<Counted>(alive);
  const Ref<Counted>& same = ref;
  ref = same;
  EXPECT_EQ(alive, 1);
  EXPECT_EQ(ref->use_count(), 1);
}

TEST(Ref, AChainOfAMillionIsDestroyedWithoutRecursion) {
  int alive = 0;
  Ref<Counted> head;
  for (int i = 0; i < 1'000'000; ++i) {
    auto link = make_ref<Counted>(alive);
    link->next = std::move(head);
    head = std::move(link);
  }
  EXPECT_EQ(alive, 1'000'000);
  head = nullptr;
  EXPECT_EQ(alive, 0);
}

TEST(Ref, IfAliveGivesNothingOnceTheLastReferenceIsGone) {
  // The object is looked at from its own destructor: its count is zero, and it must not come back.
  class Watcher final : public RefCounted {
   public:
    explicit Watcher(bool& came_back) : came_back_(came_back) {}
    ~Watcher() override { came_back_ = static_cast<bool>(Ref<Watcher>::if_alive(this)); }

   private:
    bool& came_back_;
  };
  bool came_back = true;
  auto watcher = make_ref<Watcher>(came_back);
  EXPECT_TRUE(Ref<Watcher>::if_alive(watcher.get()));
  watcher = nullptr;
  EXPECT_FALSE(came_back);
}

TEST(Releases, DestroyWhatWasReleasedWhenTheyGo) {
  int alive = 0;
  {
    Releases later;
    {
      const Releases::Scope scope(later);
      for (int i = 0; i < 3; ++i) {
        auto one = make_ref<Counted>(alive);
        one->next = make_ref<Counted>(alive);
      }
      EXPECT_EQ(alive, 6);
    }
    make_ref<Counted>(alive);  // outside of the scope: at once
    EXPECT_EQ(alive, 6);
  }
  EXPECT_EQ(alive, 0);
}

TEST(Releases, InsideOfADestructorLeaveItToThat) {
  int alive = 0;
  struct Outer final : RefCounted {
    explicit Outer(int& count) : alive(count) {}
    ~Outer() override {
      Releases later;
      {
        const Releases::Scope scope(later);
        make_ref<Counted>(alive);
      }
      make_ref<Counted>(alive);
    }
    int& alive;
  };
  make_ref<Outer>(alive);
  EXPECT_EQ(alive, 0);
  make_ref<Counted>(alive);
  EXPECT_EQ(alive, 0);
}

TEST(Ref, ManyThreadsMayCopyAndDropOneReference) {
  int alive = 0;
  auto shared = make_ref<Counted>(alive);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 10'000; ++i) Ref<Counted> copy = shared;
      });
    }
  }
  EXPECT_EQ(shared->use_count(), 1);
  EXPECT_EQ(alive, 1);
}

}  // namespace
}  // namespace tenon
