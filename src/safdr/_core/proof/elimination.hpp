// Symmetric matrices of a node, stored as lower triangles in rows that are `stride` apart; the columns that belong to their
// rows are `stride` long. Eliminating a row and its column leaves the Schur complement; leaving them out, the block of
// the others.
#pragma once

#include <cstdint>

namespace safdr {

struct Symmetric {
  double* entries;    // stride x stride
  double* columns;    // n_columns x stride
  std::int64_t size;  // rows in use
};

struct Layout {
  std::int64_t stride, n_columns;
};

// Eliminates row j of `from`, which may be `to` itself. `row` is memory of its size. Returns the sum over the columns
// of c_j² / a_jj.
double take_out(const Layout& layout, const Symmetric& from, std::int64_t j, double* row, Symmetric& to) noexcept;

// Leaves row j out of `from`, which may be `to` itself.
void leave_out(const Layout& layout, const Symmetric& from, std::int64_t j, Symmetric& to) noexcept;

// Writes, for each row b before row a, the result of eliminating both; infinity if rounding hides it.
void pair_gains(const Layout& layout, const Symmetric& matrix, const double* square, std::int64_t a, double* product,
                double* gains) noexcept;

}  // namespace safdr
