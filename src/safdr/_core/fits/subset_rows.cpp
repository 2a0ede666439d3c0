#include "fits/subset_rows.hpp"

#include "fits/weighted_gram.hpp"
#include "simd/clones.hpp"

namespace safdr {
namespace {

// out += factor z of a block.
SAFDR_CLONES void add_scaled(const double* z, double factor, double* out) {
  for (std::int64_t n = 0; n < kBlock; ++n) out[n] += factor * z[n];
}

}  // namespace

SubsetRows::SubsetRows(const ClassDesign& design, std::int64_t size)
    : q(size + 1), n_classes(design.n_classes), n_rows(design.n_rows), n_unknown((n_classes - 1) * q),
      n_padded(design.n_blocks() * kBlock), weight(static_cast<std::size_t>(n_padded)),
      shares(static_cast<std::size_t>(n_classes)), Z_(design.Z), n_columns_(design.n_columns),
      columns_(static_cast<std::size_t>(WeightedGram::whole_tiles(q))) {
  double total = 0.0;
  for (std::int64_t n = 0; n < n_rows; ++n) total += design.weight ? design.weight[n] : 1.0;
  for (std::int64_t n = 0; n < n_rows; ++n) {
    weight[n] = (design.weight ? design.weight[n] : 1.0) / total;
    shares[design.codes[n]] += weight[n];
  }
  // What sets rare classes apart from the rest is then no difference of large numbers.
  common = std::max_element(shares.begin(), shares.end()) - shares.begin();
  std::swap(shares[0], shares[common]);
  codes.resize(n_rows);
  std::transform(design.codes, design.codes + n_rows, codes.begin(), [&](auto c) { return row_of(c); });
}

void SubsetRows::take(const std::int32_t* subset) {
  // The constant one also fills up the last tile.
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    columns_[j] = Z_ + (static_cast<std::int64_t>(j) + 1 < q ? subset[j] : n_columns_ - 1) * kBlock;
  }
}

void SubsetRows::apply(const double* theta, std::vector<double>& out) const {
  std::fill(out.begin(), out.end(), 0.0);
  each_block([&](const double* const* columns, std::int64_t start) {
    for (std::int64_t c = n_classes == 2 ? 1 : 0; c < n_classes; ++c) {
      double* here = &out[at(c, start)];
      for (std::int64_t j = 0; j < q; ++j) {
        if (n_classes == 2) {
          add_scaled(columns[j], theta[c * q + j], here);
          continue;
        }
        // Coefficients of two classes may differ in the last digits only: first their difference, then the product.
        for (std::int64_t n = 0; n < std::min(kBlock, n_rows - start); ++n) {
          here[n] += (theta[c * q + j] - theta[codes[start + n] * q + j]) * columns[j][n];
        }
      }
    }
  });
}

}  // namespace safdr
