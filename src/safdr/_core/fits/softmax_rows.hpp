// Rows of several classes with the columns of one subset, block by block: their logits by a matrix of coefficients, and
// sums of their columns times one factor a class.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "aligned.hpp"
#include "fits/columns.hpp"
#include "fits/weighted_gram.hpp"
#include "simd/pack.hpp"

namespace safdr {

// Coefficients, gradients and directions are matrices of one row a class, filled up with zeros to full tiles.
class SoftmaxRows {
 public:
  SoftmaxRows(const ClassDesign& design, std::int64_t q)
      : q(q), stride(WeightedGram::whole_tiles(q)), n_classes(design.n_classes),
        length(WeightedGram::whole_tiles(n_classes) * stride), design_(design),
        shares_(static_cast<std::size_t>(n_classes)), logits_(WeightedGram::whole_tiles(n_classes) * kBlock),
        columns_(static_cast<std::size_t>(stride)), offsets_(static_cast<std::size_t>(stride)), sums_(length * kWidth) {
    for (std::int64_t n = 0; n < design.n_rows; ++n) {
      const double weight = design.weight ? design.weight[n] : 1.0;
      shares_[static_cast<std::size_t>(design.codes[n])] += weight;
      total_ += weight;
    }
    for (double& share : shares_) share /= total_;
  }

  const std::int64_t q, stride, n_classes, length;

  // Numbers of the probabilities of all rows: [block][class][row in block].
  std::int64_t n_probabilities() const { return design_.n_blocks() * n_classes * kBlock; }

  // The columns of the model, the constant one last. It also fills up the last tile.
  void take_columns(const std::int32_t* subset) {
    for (std::int64_t j = 0; j < stride; ++j) {
      const std::int64_t column = j + 1 < q ? subset[j] : design_.n_columns - 1;
      offsets_[static_cast<std::size_t>(j)] = column * kBlock;
    }
  }

 protected:
  typedef Doubles::Part Part;
  static constexpr std::int64_t kWidth = Doubles::kPerPart, kTile = 4, kHalf = 2;

  // Rows beyond the last have no weight.
  SAFDR_INLINE void take_block(std::int64_t block) {
    const double* Z = design_.Z + block * design_.n_columns * kBlock;
    for (std::size_t j = 0; j < columns_.size(); ++j) columns_[j] = Z + offsets_[j];
    const std::int64_t start = block * kBlock;
    n_here_ = std::min(kBlock, design_.n_rows - start);
    codes_ = design_.codes + start;
    if (design_.weight) std::copy_n(design_.weight + start, n_here_, weight_);
    if (!design_.weight) std::fill_n(weight_, n_here_, 1.0);
    std::fill(weight_ + n_here_, weight_ + kBlock, 0.0);
  }

  // logits = Z theta', four classes and two vectors of rows at a time, so that the sums stay in registers.
  SAFDR_INLINE void multiply(const double* theta) {
    for (std::int64_t c = 0; c < n_classes; c += kTile) {
      const double* t = theta + c * stride;
      for (std::int64_t n = 0; n < kBlock; n += 2 * kWidth) {
        Part sum[kTile][2] = {};
        for (std::int64_t j = 0; j < q; ++j) {
          const double* z = columns_[static_cast<std::size_t>(j)] + n;
          const Part first = at(z), second = at(z + kWidth);
          for (std::int64_t r = 0; r < kTile; ++r) {
            const double factor = t[r * stride + j];
            sum[r][0] += factor * first;
            sum[r][1] += factor * second;
          }
        }
        for (std::int64_t r = 0; r < kTile; ++r) {
          double* out = logits_.data() + (c + r) * kBlock + n;
          at(out) = sum[r][0];
          at(out + kWidth) = sum[r][1];
        }
      }
    }
  }

  // Takes the weight of each row from the number of its own class.
  SAFDR_INLINE void subtract_labels() {
    for (std::int64_t n = 0; n < n_here_; ++n) logits_.data()[codes_[n] * kBlock + n] -= weight_[n];
  }

  SAFDR_INLINE void clear_sums() { std::fill_n(sums_.data(), length * kWidth, 0.0); }

  // sums += logits' Z, one sum for each place in a vector of rows: four classes and two columns at a time.
  SAFDR_INLINE void add_products() {
    for (std::int64_t c = 0; c < n_classes; c += kTile) {
      const double* r = logits_.data() + c * kBlock;
      for (std::int64_t j = 0; j < stride; j += kHalf) {
        const double *z0 = columns_[static_cast<std::size_t>(j)], *z1 = columns_[static_cast<std::size_t>(j + 1)];
        Part sum[kTile][kHalf] = {};
        for (std::int64_t n = 0; n < kBlock; n += kWidth) {
          const Part first = at(z0 + n), second = at(z1 + n);
          for (std::int64_t i = 0; i < kTile; ++i) {
            const Part factor = at(r + i * kBlock + n);
            sum[i][0] += factor * first;
            sum[i][1] += factor * second;
          }
        }
        for (std::int64_t i = 0; i < kTile; ++i) {
          double* out = sums_.data() + ((c + i) * stride + j) * kWidth;
          at(out) += sum[i][0];
          at(out + kWidth) += sum[i][1];
        }
      }
    }
  }

  SAFDR_INLINE void sum_up(double* out) {
    std::fill_n(out, length, 0.0);
    for (std::int64_t c = 0; c < n_classes; ++c) {
      for (std::int64_t j = 0; j < q; ++j) {
        out[c * stride + j] = sum_of(at(sums_.data() + (c * stride + j) * kWidth)) / total_;
      }
    }
  }

  const ClassDesign& design_;
  std::vector<double> shares_;  // of the weight, of each class
  double total_ = 0.0;

  // The block at hand. Logits may be overwritten by whatever add_products is to sum up.
  AlignedBuffer<double> logits_;
  std::vector<const double*> columns_;
  std::int64_t n_here_ = 0;
  const std::int32_t* codes_ = nullptr;
  alignas(64) double weight_[kBlock];

 private:
  std::vector<std::int64_t> offsets_;
  AlignedBuffer<double> sums_;
};

}  // namespace safdr
