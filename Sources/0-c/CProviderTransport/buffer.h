// SPDX-License-Identifier: Apache-2.0
// Bytes that grow up to a bound and are wiped when they are freed, since they may hold tokens.
#ifndef GATEHOUSE_BUFFER_H
#define GATEHOUSE_BUFFER_H

#include <stddef.h>
#include <stdint.h>

typedef struct buffer {
    uint8_t *bytes;
    size_t length;
    size_t capacity;
    size_t limit;
} buffer;

// Appends; 0 when the bound would be passed or memory ran out, with the buffer unchanged.
int buffer_append(buffer *self, const void *bytes, size_t length);

// Wipes and frees the bytes.
void buffer_free(buffer *self);

#endif
