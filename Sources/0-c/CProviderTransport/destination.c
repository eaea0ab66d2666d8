// SPDX-License-Identifier: Apache-2.0
#include "destination.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>

typedef struct network {
    uint32_t first;
    int bits;
} network;

// RFC 6890 and RFC 5771: this network, private use, shared, loopback, link-local, protocol assignments, documentation, 6to4
// relays, benchmarks, multicast and reserved.
static const network reserved[] = {
    {0x00000000, 8},  {0x0A000000, 8},  {0x64400000, 10}, {0x7F000000, 8},  {0xA9FE0000, 16},
    {0xAC100000, 12}, {0xC0000000, 24}, {0xC0000200, 24}, {0xC0586300, 24}, {0xC0A80000, 16},
    {0xC6120000, 15}, {0xC6336400, 24}, {0xCB007100, 24}, {0xE0000000, 3},
};

static int is_public_4(uint32_t address) {
    for (size_t index = 0; index < sizeof reserved / sizeof *reserved; index += 1) {
        if ((address ^ reserved[index].first) >> (32 - reserved[index].bits) == 0) {
            return 0;
        }
    }
    return 1;
}

// Global unicast is 2000::/3 (RFC 4291 §2.4). Of that, protocol assignments with Teredo (2001::/23), documentation
// (2001:db8::/32, 3fff::/20) and 6to4 (2002::/16) are left out: they lead elsewhere, some to an IPv4 address inside them.
static int is_public_6(const uint8_t *bytes) {
    if ((bytes[0] & 0xE0) != 0x20) {
        return 0;
    }
    uint32_t start = (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
    return start >> 9 != 0x20010000 >> 9 && start != 0x20010DB8 && start >> 16 != 0x2002 && start >> 12 != 0x3FFF0000 >> 12;
}

int is_public_address(const struct sockaddr *address) {
    if (address->sa_family == AF_INET) {
        struct sockaddr_in known;
        memcpy(&known, address, sizeof known);
        return is_public_4(ntohl(known.sin_addr.s_addr));
    }
    if (address->sa_family != AF_INET6) {
        return 0;
    }
    struct sockaddr_in6 known;
    memcpy(&known, address, sizeof known);
    return is_public_6(known.sin6_addr.s6_addr);
}

curl_socket_t open_public_socket(void *caller, curlsocktype purpose, struct curl_sockaddr *address) {
    (void)caller, (void)purpose;
    if (!is_public_address(&address->addr)) {
        return CURL_SOCKET_BAD;
    }
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}
