// SPDX-License-Identifier: Apache-2.0
// The entry to libFuzzer, which comes with the toolchain.
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerRunDriver(int *count, char ***arguments, int (*run)(const uint8_t *bytes, size_t count));
