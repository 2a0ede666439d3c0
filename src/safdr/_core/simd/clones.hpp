// One binary, the widest vectors the machine has: entry points marked SAFDR_CLONES are compiled once
// per instruction set and picked when the library is loaded. Whatever they call must be inlined into
// them (SAFDR_INLINE) to be compiled with them.
#pragma once

#if defined(SAFDR_CLONES_WORK)
#define SAFDR_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define SAFDR_CLONES
#endif

// With sanitizers there are no clones: forced inlining would take minutes to compile.
#if defined(SAFDR_SANITIZED)
#define SAFDR_INLINE inline
#define SAFDR_INLINE_LAMBDA
#else
#define SAFDR_INLINE inline __attribute__((always_inline))
#define SAFDR_INLINE_LAMBDA __attribute__((always_inline))
#endif
