// SPDX-License-Identifier: Apache-2.0
#include "buffer.h"

#include <stdlib.h>
#include <string.h>

static int grow(buffer *self, size_t wanted) {
    size_t capacity = self->capacity == 0 ? 2048 : self->capacity;
    while (capacity < wanted) {
        if (capacity > SIZE_MAX / 2) {
            return 0;
        }
        capacity *= 2;
    }
    // Not realloc: it would leave a copy of the old bytes behind.
    uint8_t *bytes = malloc(capacity);
    if (bytes == NULL) {
        return 0;
    }
    if (self->length > 0) {
        memcpy(bytes, self->bytes, self->length);
        explicit_bzero(self->bytes, self->length);
    }
    free(self->bytes);
    self->bytes = bytes;
    self->capacity = capacity;
    return 1;
}

int buffer_append(buffer *self, const void *bytes, size_t length) {
    if (length > self->limit || self->length > self->limit - length) {
        return 0;
    }
    if (length == 0) {
        return 1;
    }
    if (self->length + length > self->capacity && !grow(self, self->length + length)) {
        return 0;
    }
    memcpy(self->bytes + self->length, bytes, length);
    self->length += length;
    return 1;
}

void buffer_free(buffer *self) {
    if (self->bytes != NULL) {
        explicit_bzero(self->bytes, self->capacity);
        free(self->bytes);
    }
    self->bytes = NULL;
    self->length = 0;
    self->capacity = 0;
}
