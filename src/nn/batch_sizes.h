// What is asked of the batch_sizes of a PackedSequence, which a user may have put together.
#pragma once

#include <cstdint>
#include <span>

namespace tenon::nn {

// ValueError unless they are positive and do not grow; ShapeError unless they add up to the rows.
void check_batch_sizes(std::span<const std::int64_t> sizes, std::int64_t rows);

}  // namespace tenon::nn
