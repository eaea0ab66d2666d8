// SPDX-License-Identifier: Apache-2.0
// Which addresses are those of the internet.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "client.h"
#include "destination.h"
#include "tests.h"

static int is_public(const char *text) {
    struct sockaddr_storage address = {0};
    struct sockaddr_in *four = (struct sockaddr_in *)&address;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)&address;
    if (inet_pton(AF_INET, text, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
    } else {
        CHECK_EQUAL(inet_pton(AF_INET6, text, &six->sin6_addr), 1);
        six->sin6_family = AF_INET6;
    }
    return is_public_address((struct sockaddr *)&address);
}

// The last address before each network, its first and last, and the first after it.
static void test_ranges(void) {
    static const char *open[] = {
        "1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
        "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "191.255.255.255", "192.0.1.0", "192.0.3.0",
        "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "198.51.99.255", "198.51.101.0", "203.0.112.255",
        "203.0.114.0", "223.255.255.255", "8.8.8.8", "2000::", "2001:200::1", "2001:db7::1", "2001:db9::1", "2003::1",
        "2606:4700::1111", "3ffe::1", "3fff:1000::1",
    };
    static const char *closed[] = {
        "0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255", "127.0.0.1",
        "127.255.255.255", "169.254.0.0", "169.254.169.254", "172.16.0.0", "172.31.255.255", "192.0.0.0", "192.0.0.255",
        "192.0.2.1", "192.88.99.1", "192.168.0.0", "192.168.255.255", "198.18.0.0", "198.19.255.255", "198.51.100.1",
        "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "::", "::1", "::ffff:8.8.8.8",
        "::8.8.8.8", "64:ff9b::808:808", "100::1", "1fff::1", "2001::1", "2001:1ff::1", "2001:db8::1", "2002:a00:1::1",
        "3fff::1", "3fff:fff::1", "4000::1", "fc00::1", "fd00::1", "fe80::1", "fec0::1", "ff02::1",
    };
    for (size_t index = 0; index < sizeof open / sizeof *open; index += 1) {
        CHECK(is_public(open[index]));
    }
    for (size_t index = 0; index < sizeof closed / sizeof *closed; index += 1) {
        CHECK(!is_public(closed[index]));
    }
    struct sockaddr other = {.sa_family = AF_UNIX};
    CHECK(!is_public_address(&other));
}

// By its address and by its name; without the restriction both are reached.
static void test_local_servers(void) {
    for (int is_public_only = 0; is_public_only < 2; is_public_only += 1) {
        client *self = client_open(8);
        if (is_public_only) {
            gate_transport_public_only(self->transport);
        }
        client_start(self);
        gate_outcome wanted = is_public_only ? GATE_UNREACHABLE : GATE_COMPLETED;
        CHECK_EQUAL(client_ask(self, get_from("localhost", "plain", "/")).outcome, wanted);
        CHECK_EQUAL(client_ask(self, get_from("127.0.0.1", "plain", "/")).outcome, wanted);
        CHECK_EQUAL(client_ask(self, get_from("provider.test", "kept", "/")).outcome, wanted);
        client_close(self);
    }
}

const test destinations_tests[] = {
    {"destinations: both ends of each network that is not public", test_ranges},
    {"destinations: no local server is reached, whatever it is called", test_local_servers},
    {0},
};
