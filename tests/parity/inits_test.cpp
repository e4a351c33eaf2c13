// First values for parameters, beside what PyTorch left in them.
#include <gtest/gtest.h>

#include "parity/cases.h"
#include "parity/words.h"
#include "support/sha256.h"

namespace tenon::parity {
namespace {

namespace init = nn::init;

void initialise(const std::string& kind, const Tensor& t, const Words& words,
                const std::optional<Generator>& generator) {
  if (kind == "uniform_") {
    init::uniform_(t, {.a = words.real("a", 0), .b = words.real("b", 1), .generator = generator});
  } else if (kind == "normal_") {
    init::normal_(
        t, {.mean = words.real("mean", 0), .std = words.real("std", 1), .generator = generator});
  } else if (kind == "trunc_normal_") {
    init::trunc_normal_(t, {.mean = words.real("mean", 0),
                            .std = words.real("std", 1),
                            .a = words.real("a", -2),
                            .b = words.real("b", 2),
                            .generator = generator});
  } else if (kind == "constant_") {
    init::constant_(t, words.plain(0));
  } else if (kind == "ones_") {
    init::ones_(t);
  } else if (kind == "zeros_") {
    init::zeros_(t);
  } else if (kind == "eye_") {
    init::eye_(t);
  } else if (kind == "dirac_") {
    init::dirac_(t, {.groups = words.whole("groups", 1)});
  } else if (kind == "xavier_uniform_" || kind == "xavier_normal_") {
    (kind == "xavier_normal_" ? init::xavier_normal_ : init::xavier_uniform_)(
        t, {.gain = words.real("gain", 1), .generator = generator});
  } else if (kind == "kaiming_uniform_" || kind == "kaiming_normal_") {
    const std::string mode = words.text("mode", "fan_in"),
                      nonlinearity = words.text("nonlinearity", "leaky_relu");
    (kind == "kaiming_normal_" ? init::kaiming_normal_ : init::kaiming_uniform_)(
        t, {.a = words.real("a", 0),
            .mode = mode,
            .nonlinearity = nonlinearity,
            .generator = generator});
  } else if (kind == "orthogonal_") {
    init::orthogonal_(t, {.gain = words.real("gain", 1), .generator = generator});
  } else if (kind == "sparse_") {
    init::sparse_(t, words.plain(0), {.std = words.real("std", 0.01), .generator = generator});
  } else {
    throw Error("nobody knows how to initialise by '" + kind + "'");
  }
}

// How far the elements of both storages are apart.
double distance(const Tensor& ours, const std::string& storage) {
  const std::vector<std::byte> data = bytes(storage);
  const auto count = static_cast<std::int64_t>(data.size()) / ours.element_size();
  if (count == 0) return 0;
  const Tensor theirs = empty({count}, {.dtype = ours.dtype()});
  std::copy(data.begin(), data.end(), static_cast<std::byte*>(theirs.data_ptr()));
  return amax(abs(ours.as_strided({count}, {1}, 0) - theirs)).item<double>();
}

std::string state_hash(const Tensor& state) { return sha256(bytes(element_hex(state))); }

TEST(ParityInits, DrawWhatPyTorchDrawsAndLeaveTheSameState) {
  int warnings = 0;
  const WarningHandler before = set_warning_handler([&](const std::string&) { ++warnings; });
  for (const Case& one : read_cases("inits")) {
    const Line& op = one.line("op");
    SCOPED_TRACE(one.where + " " + op[1] + " " + one.line("tensor")[1] + "[" +
                 one.line("tensor")[2] + "]");
    const Tensor t = make_tensor(one.line("tensor"));
    const std::uint64_t seed = std::stoull(op[2]);
    manual_seed(seed);
    if (op[3] == "1") randn({1});
    std::optional<Generator> own;
    if (op[4] == "1") {
      own = Generator();
      own->manual_seed(seed ^ 1);
    }
    warnings = 0;
    try {
      initialise(op[1], t, Words(op.begin() + 5, op.end()), own);
      EXPECT_FALSE(one.has("error")) << "PyTorch refuses this: " << op[1];
      if (one.has("error")) continue;
      const std::string& storage = one.line("storage")[1];
      if (op[1] == "orthogonal_") {
        EXPECT_LE(distance(t, storage), t.dtype() == float64 ? 1e-12 : 2e-5);
      } else {
        EXPECT_EQ(storage_hex(t), storage);
      }
      EXPECT_EQ(warnings, std::stoi(one.line("warnings")[1]));
      EXPECT_EQ(state_hash(get_rng_state()), one.line("state")[1]);
      if (own) {
        EXPECT_EQ(state_hash(own->get_state()), one.line("own")[1]);
      }
    } catch (const InternalError& error) {
      ADD_FAILURE() << error.what();
    } catch (const Error& error) {
      EXPECT_TRUE(one.has("error")) << "PyTorch does this; we say: " << error.what();
    }
  }
  set_warning_handler(before);
}

}  // namespace
}  // namespace tenon::parity
