// SPDX-License-Identifier: Apache-2.0
// Which addresses a transport may connect to.
#ifndef GATEHOUSE_DESTINATION_H
#define GATEHOUSE_DESTINATION_H

#include <curl/curl.h>
#include <sys/socket.h>

#include "provider_transport.h"

// Whether an address is one of the internet: unicast, and of no network that is local or reserved (RFC 6890).
int is_public_address(const struct sockaddr *address);

// For CURLOPT_OPENSOCKETFUNCTION: opens sockets to such addresses only, whatever the host is called and resolved to.
curl_socket_t open_public_socket(void *caller, curlsocktype purpose, struct curl_sockaddr *address);

#endif
