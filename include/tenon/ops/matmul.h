// Products of vectors and matrices.
//
//   Tensor y = matmul(x, weight.t());         // batches broadcast
//   mm_out(y, a, b);                          // into memory that is there
//
// float32 and bfloat16 are multiplied by oneDNN, the latter added up in float; float16 goes through
// float32; doubles, complex and whole numbers are ours. The result is the same on any number of
// threads.
#pragma once

#include "tenon/detail/api.h"
#include "tenon/extend/op_info.h"
#include "tenon/scalar.h"
#include "tenon/tensor.h"

namespace tenon {

namespace op {

struct TENON_API dot {
  using Signature = Tensor(const Tensor& self, const Tensor& tensor);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API mv {
  using Signature = Tensor(const Tensor& self, const Tensor& vec);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API mm {
  using Signature = Tensor(const Tensor& self, const Tensor& mat2);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API bmm {
  using Signature = Tensor(const Tensor& self, const Tensor& mat2);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API addmm {
  using Signature = Tensor(const Tensor& self, const Tensor& mat1, const Tensor& mat2,
                           const Scalar& beta, const Scalar& alpha);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API baddbmm {
  using Signature = Tensor(const Tensor& self, const Tensor& batch1, const Tensor& batch2,
                           const Scalar& beta, const Scalar& alpha);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API addbmm {
  using Signature = Tensor(const Tensor& self, const Tensor& batch1, const Tensor& batch2,
                           const Scalar& beta, const Scalar& alpha);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API addmv {
  using Signature = Tensor(const Tensor& self, const Tensor& mat, const Tensor& vec,
                           const Scalar& beta, const Scalar& alpha);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API addr {
  using Signature = Tensor(const Tensor& self, const Tensor& vec1, const Tensor& vec2,
                           const Scalar& beta, const Scalar& alpha);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API matmul {
  using Signature = Tensor(const Tensor& self, const Tensor& other);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};

}  // namespace op

// Of two vectors of the same length: the sum of the products of their elements.
TENON_API Tensor dot(const Tensor& self, const Tensor& tensor);
// A matrix times a vector, a matrix, and each of a batch of matrices times its own.
TENON_API Tensor mv(const Tensor& self, const Tensor& vec);
TENON_API Tensor mm(const Tensor& self, const Tensor& mat2);
TENON_API Tensor bmm(const Tensor& self, const Tensor& mat2);
struct AddmmOptions {
  Scalar beta = 1;   // a factor of what is added to; with 0 that is not looked at
  Scalar alpha = 1;  // a factor of the product
};
// A product of matrices added to what broadcasts to its shape; 16-bit numbers are rounded once, at
// the end. Whole numbers take whole factors.
TENON_API Tensor addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2,
                       const AddmmOptions& options = {});
// The same of bmm, of the sum of its products, of mv and of outer.
TENON_API Tensor baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2,
                         const AddmmOptions& options = {});
TENON_API Tensor addbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2,
                        const AddmmOptions& options = {});
TENON_API Tensor addmv(const Tensor& self, const Tensor& mat, const Tensor& vec,
                       const AddmmOptions& options = {});
TENON_API Tensor addr(const Tensor& self, const Tensor& vec1, const Tensor& vec2,
                      const AddmmOptions& options = {});
// Whichever of the products fits. More than two dimensions are a batch, and batches broadcast; a
// vector on the left is a row, on the right a column, and the dimension it would add is left out.
TENON_API Tensor matmul(const Tensor& self, const Tensor& other);
// Every element of one vector times every element of the other.
TENON_API Tensor outer(const Tensor& self, const Tensor& vec2);

TENON_API const Tensor& dot_out(const Tensor& out, const Tensor& self, const Tensor& tensor);
TENON_API const Tensor& mv_out(const Tensor& out, const Tensor& self, const Tensor& vec);
TENON_API const Tensor& mm_out(const Tensor& out, const Tensor& self, const Tensor& mat2);
TENON_API const Tensor& bmm_out(const Tensor& out, const Tensor& self, const Tensor& mat2);
TENON_API const Tensor& addmm_out(const Tensor& out, const Tensor& self, const Tensor& mat1,
                                  const Tensor& mat2, const AddmmOptions& options = {});
TENON_API const Tensor& matmul_out(const Tensor& out, const Tensor& self, const Tensor& other);

}  // namespace tenon
