// The walk that judges what we write, judged itself: programs made by hand, with every way a pickle
// has to name and to call something.
#include "support/pickle_walk.h"

#include <string>

#include "support/matchers.h"
#include "support/written_file.h"

namespace tenon {
namespace {

using namespace std::string_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

std::vector<std::string> names_in(std::string_view program) {
  std::vector<std::string> names;
  for (const PickledName& name : walk_pickle(program).globals) names.push_back(name.str());
  return names;
}

std::vector<std::string> calls_in(std::string_view program) {
  std::vector<std::string> calls;
  for (const PickledCall& call : walk_pickle(program).calls)
    calls.push_back(call.how + " " + call.callee.str() + " " + std::to_string(call.arguments));
  return calls;
}

TEST(PickleWalk, ACommandIsSeenAndRefused) {
  const std::string evil = "\x80\2cos\nsystem\nX\2\0\0\0id\x85R."s;
  EXPECT_THAT(names_in(evil), ElementsAre("os.system"));
  EXPECT_THAT(calls_in(evil), ElementsAre("REDUCE os.system 1"));
  EXPECT_THAT(walk_pickle(evil).problems, IsEmpty());
  EXPECT_EQ(wrong_in_pickle(evil), "the name os.system");
}

TEST(PickleWalk, EveryWayToNameSomethingIsSeen) {
  EXPECT_THAT(names_in("\x80\4\x8c\2os\x8c\6system\x93."), ElementsAre("os.system"));
  // By way of the memo, in either order.
  EXPECT_THAT(names_in("\x80\4\x8c\2os\x94\x8c\6system\x94\x30\x30h\0h\1\x93."s),
              ElementsAre("os.system"));
  EXPECT_THAT(names_in("(ios\nsystem\n."), ElementsAre("os.system"));
  EXPECT_THAT(names_in("V\x6f\x73\np3\n0g3\nS'system'\n\x93."), ElementsAre("os.system"));
  EXPECT_THAT(walk_pickle("\x80\2\x82\1."s).problems, ElementsAre("EXT code 1"));
  EXPECT_THAT(walk_pickle("\x80\2\x84\1\0\0\1."s).problems, ElementsAre("EXT code 16777217"));
}

TEST(PickleWalk, EveryWayToCallSomethingIsSeen) {
  EXPECT_THAT(calls_in("ca\nb\n)R."), ElementsAre("REDUCE a.b 0"));
  EXPECT_THAT(calls_in("ca\nb\nK\1K\2\x86\x81."), ElementsAre("NEWOBJ a.b 2"));
  EXPECT_THAT(calls_in("ca\nb\n)}\x92."), ElementsAre("NEWOBJ_EX a.b 0"));
  EXPECT_THAT(calls_in("(K\1ia\nb\n."), ElementsAre("INST a.b 1"));
  EXPECT_THAT(calls_in("(ca\nb\nNNNo."), ElementsAre("OBJ a.b 3"));
  EXPECT_THAT(calls_in("ca\nb\n)R}b."), ElementsAre("REDUCE a.b 0", "BUILD a.b 1"));
  EXPECT_THAT(calls_in("ca\nb\nq\1(NNNNtRq\2\060h\1h\2\x85R."),
              ElementsAre("REDUCE a.b 4", "REDUCE a.b 1"));
  EXPECT_THAT(walk_pickle("K\1)R.").problems, ElementsAre("REDUCE of what is no global"));
  EXPECT_THAT(walk_pickle("ca\nb\nNR.").problems, ElementsAre("REDUCE with no tuple"));
  EXPECT_THAT(walk_pickle("]}b.").problems, ElementsAre("BUILD of what no call made"));
}

TEST(PickleWalk, AMemoNumberIsCountedAsPythonCountsIt) {
  // MEMOIZE takes the number of memos there are: after one under 5, that is 1.
  EXPECT_THAT(names_in("\x8c\2os\x72\5\0\0\0\x8c\6system\x94\x30\x30h\5h\1\x93."s),
              ElementsAre("os.system"));
  EXPECT_THAT(walk_pickle("h\7.").problems, ElementsAre("a memo that was never set"));
}

TEST(PickleWalk, AProgramThatIsNoneHasProblems) {
  for (const std::string& broken :
       {""s, "."s, "K"s, "K\1"s, "X\5\0\0\0ab."s, "\xff."s, "t."s, "(."s, "NN."s, "N.N"s, "cab"s,
        "K\1K\2s."s, "(NQ."s, "Pid\n."s, "\x8e\xff\xff\xff\xff\xff\xff\xff\xff."s})
    EXPECT_THAT(walk_pickle(broken).problems, Not(IsEmpty())) << broken;
}

TEST(PickleWalk, WhatTorchSaveWritesForAStateDictIsOurs) {
  const std::string program =
      "\x80\2ccollections\nOrderedDict\nq\0)Rq\1X\1\0\0\0wq\2"
      "ctorch._utils\n_rebuild_tensor_v2\nq\3((X\7\0\0\0storageq\4ctorch\nFloatStorage\nq\5"
      "X\1\0\0\0000q\6X\3\0\0\0cpuq\7K\1tq\x08QK\0K\1\x85q\x09K\1\x85q\x0a\x89h\0)"
      "Rq\x0btq\x0cRq\x0d"
      "s}q\x0eX\x09\0\0\0_metadataq\x0f}q\x10sb."s;
  EXPECT_EQ(wrong_in_pickle(program), "");
  const PickleWalk walk = walk_pickle(program);
  ASSERT_EQ(walk.storages.size(), 1u);
  EXPECT_EQ(walk.storages[0].str(), "torch.FloatStorage");
}

TEST(PickleWalk, WhatIsNotOnTheListsIsNotOurs) {
  const auto wrong = [](const std::string& program) { return wrong_in_pickle(program); };
  // The newline that a name had in it ends the line, and the rest is a program.
  EXPECT_THAT(wrong("\x80\2ctorch\nper_x\nos\nsystem\n."), Not(IsEmpty()));
  EXPECT_EQ(wrong("\x80\2ctorch\nper_x\n."), "the name torch.per_x");
  EXPECT_EQ(wrong("\x80\2ctorch\nfloat32\n)R."), "REDUCE of torch.float32");
  EXPECT_EQ(wrong("\x80\2ctorch\nSize\n)R."), "REDUCE of torch.Size with 0 arguments");
  EXPECT_EQ(wrong("\x80\2ctorch\nSize\n)\x85R}b."), "BUILD of torch.Size");
  EXPECT_EQ(wrong("\x80\2N0N."), "opcode 48");
  EXPECT_EQ(wrong("\x80\2ccollections\nOrderedDict\n)\x81."), "opcode 129");
  EXPECT_EQ(wrong("\x80\2(NctorchX\nSize\nNNNtQ."), "the name torchX.Size");
  EXPECT_EQ(wrong("\x80\2(Nctorch\nSize\nNNNtQ."), "a storage of class torch.Size");
}

}  // namespace
}  // namespace tenon
