# SPDX-License-Identifier: Apache-2.0
"""Secrets of one run that are marked, so that outputs can be searched for them."""

import secrets


class Marks(list):
    """The secrets: those that are known, those that `new` makes, and the tokens that a provider issues."""

    def new(self, name):
        """A secret with this name in it, which is random."""
        self.append(f"{name}{secrets.token_hex(8)}")
        return self[-1]

    def watch(self, realm):
        """Adds each token that a realm issues from here on, refresh tokens among them."""
        original = realm.token_response

        def remember(response):
            self.extend(response[name] for name in ("access_token", "id_token", "refresh_token") if name in response)
            return original(response)

        realm.issues_refresh = True
        realm.token_response = remember
