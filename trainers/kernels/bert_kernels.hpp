#pragma once

#include <cstdint>

#include "kernels/bert_hash.hpp"

/// The parts of BERT that are no products of large matrices, in one pass each, forward and backward. No LibTorch here.
///
/// T is the type of values that are summed and kept exactly (parameters, residual stream, softmax, LayerNorm); M is the type of
/// the matrices that go into and come out of the linear layers' products: <double, double>, <float, float>, <float, Bf16>.
/// Matrices are row-major; a row is a token. Every function computes its rows (or tasks, or columns) begin <= i < end alone,
/// and writes no others: any partition among threads gives the same bits. Dropout is drawn from bert_hash.hpp, again in
/// backward.
namespace hpcbench::train::kernels {

/// bfloat16: the upper half of a float.
struct Bf16 {
  std::uint16_t bits = 0;
};

/// Sums over rows are first made for blocks of this many rows, whose sums are then added in order.
inline constexpr std::int64_t kRowsOfBlock = 32;
inline std::int64_t blocks_of(std::int64_t rows) { return (rows + kRowsOfBlock - 1) / kRowsOfBlock; }

/// z = dropout(a + bias) + residual; x_hat = (z - mean z) / sqrt(var z + eps); y = x_hat * gamma + beta.
/// The sum of the embeddings instead of z where `ids` is given; dropout is then applied to y, as Hugging Face does.
template <class T, class M>
struct NormForward {
  std::int64_t width = 0;
  double eps = 0;
  DropoutSite site;
  const std::uint64_t* token_keys = nullptr;  // [rows]
  const M* a = nullptr;                       // [rows][width]
  const T* bias = nullptr;                    // [width]
  const T* residual = nullptr;                // [rows][width]
  const T* gamma = nullptr;                   // [width]
  const T* beta = nullptr;                    // [width]
  T* x_hat = nullptr;                         // [rows][width]
  T* reciprocal = nullptr;                    // [rows]: 1 / sqrt(var z + eps)
  T* y = nullptr;                             // [rows][width]
  M* y_matrix = nullptr;                      // [rows][width], y again; may be null
  const std::int64_t* ids = nullptr;          // [rows]; then the five below too, and not a, bias, residual
  const std::int64_t* types = nullptr;        // [rows]
  const std::int64_t* positions = nullptr;    // [rows]
  const T* word = nullptr;                    // [vocabulary][width]
  const T* position = nullptr;                // [positions][width]
  const T* type = nullptr;                    // [types][width]
};
template <class T, class M>
void norm_forward(const NormForward<T, M>& args, std::int64_t begin, std::int64_t end);  // rows

/// From dy + dy_matrix: dz, and da = dz through the dropout. `sums` gets, for each block of rows, the sums of dgamma, dbeta
/// and (unless dropout came after the norm) dbias. begin and end are blocks.
template <class T, class M>
struct NormBackward {
  std::int64_t rows = 0;
  std::int64_t width = 0;
  DropoutSite site;
  bool dropout_after = false;  // the embeddings' norm: dropout was applied to y, and there is no a
  const std::uint64_t* token_keys = nullptr;
  const T* dy = nullptr;
  const M* dy_matrix = nullptr;  // added to dy; may be null
  const T* x_hat = nullptr;
  const T* reciprocal = nullptr;
  const T* gamma = nullptr;
  T* dz = nullptr;    // [rows][width]; may be dy
  M* da = nullptr;    // [rows][width]; null if dropout_after
  T* sums = nullptr;  // [blocks][3][width]
};
template <class T, class M>
void norm_backward(const NormBackward<T, M>& args, std::int64_t begin, std::int64_t end);

/// g = gelu(u + bias), gelu(x) = x (1 + erf(x / sqrt 2)) / 2. begin and end are blocks of rows.
/// Backward (`dg` given): dg becomes du, and `sums` [blocks][width] gets dbias.
template <class T, class M>
struct Gelu {
  std::int64_t rows = 0;
  std::int64_t width = 0;
  const M* u = nullptr;  // [rows][width]
  const T* bias = nullptr;
  M* g = nullptr;  // [rows][width]; may be u
  M* dg = nullptr;
  T* sums = nullptr;
};
template <class T, class M>
void gelu_forward(const Gelu<T, M>& args, std::int64_t begin, std::int64_t end);
template <class T, class M>
void gelu_backward(const Gelu<T, M>& args, std::int64_t begin, std::int64_t end);

/// Attention of one row and head: softmax(q k^T / sqrt(head_width)) through dropout, times v; q, k, v = qkv + bias.
/// Nothing of size queries x keys is kept: backward computes it again from `row_max` and `row_scale`.
/// A task is (row, head), number row * heads + head; begin and end are tasks.
template <class T, class M>
struct Attention {
  std::int64_t heads = 0;
  std::int64_t head_width = 0;
  DropoutSite site;
  const std::uint64_t* token_keys = nullptr;  // [tokens]
  const std::int64_t* row_begin = nullptr;    // [rows + 1], tokens
  const std::int64_t* row_keys = nullptr;     // [rows]: only this many first tokens of a row are keys
  const M* qkv = nullptr;                     // [tokens][3 heads head_width]: q, k, v
  const T* bias[3] = {};                      // of q, k and v: [heads head_width]
  M* context = nullptr;                       // [tokens][heads head_width]
  T* row_max = nullptr;                       // [heads][tokens]: largest score
  T* row_scale = nullptr;                     // [heads][tokens]: 1 / sum of e^(score - largest)
  std::int64_t tokens = 0;
  T* workspace = nullptr;  // attention_workspace() elements, one thread's own
  // Backward only:
  const M* dcontext = nullptr;
  M* dqkv = nullptr;
  T* dbias = nullptr;  // [rows][3 heads head_width]: sums over the row's tokens
};
/// Returns the number of elements for rows of up to `longest` tokens, forward and backward.
std::int64_t attention_workspace(std::int64_t longest, std::int64_t head_width);
template <class T, class M>
void attention_forward(const Attention<T, M>& args, std::int64_t begin, std::int64_t end);
template <class T, class M>
void attention_backward(const Attention<T, M>& args, std::int64_t begin, std::int64_t end);

/// out[c] = sum over blocks of sums[block * stride + c], in order of the blocks. begin and end are columns.
template <class T, class M>
struct SumBlocks {
  const T* sums = nullptr;
  std::int64_t blocks = 0;
  std::int64_t stride = 0;
  T* out = nullptr;
};
template <class T, class M>
void sum_blocks(const SumBlocks<T, M>& args, std::int64_t begin, std::int64_t end);

/// x += matrix, elements begin to end.
template <class T, class M>
struct AddMatrix {
  T* x = nullptr;
  const M* matrix = nullptr;
};
template <class T, class M>
void add_matrix(const AddMatrix<T, M>& args, std::int64_t begin, std::int64_t end);

/// out = x in the other type: parameters for products in bf16 (`to_matrix`), their gradients back.
template <class T, class M>
struct Convert {
  T* values = nullptr;
  M* matrix = nullptr;
};
template <class T, class M>
void to_matrix(const Convert<T, M>& args, std::int64_t begin, std::int64_t end);
template <class T, class M>
void from_matrix(const Convert<T, M>& args, std::int64_t begin, std::int64_t end);

/// Rows of `dz` added to the rows of `table` that `rows` names, in order; rows equal to `skip` are left out. begin and end are
/// columns.
template <class T, class M>
struct ScatterRows {
  const T* dz = nullptr;               // [count][width]
  const std::int64_t* rows = nullptr;  // [count]
  std::int64_t count = 0;
  std::int64_t width = 0;
  std::int64_t skip = -1;
  T* table = nullptr;  // [.][width]
};
template <class T, class M>
void scatter_rows(const ScatterRows<T, M>& args, std::int64_t begin, std::int64_t end);

/// out[i] = deviation * n(i), normal numbers that depend on (key, i) alone, at most 5.8 in size; but for the last bits, which
/// instruction sets round differently. begin and end are groups of kNormalsOfGroup elements.
inline constexpr std::int64_t kNormalsOfGroup = 32;
struct NormalFill {
  std::uint64_t key = 0;
  double deviation = 1;
  std::int64_t count = 0;
  float* out = nullptr;  // [count]
};
void fill_normal(const NormalFill& args, std::int64_t begin, std::int64_t end);

}  // namespace hpcbench::train::kernels
