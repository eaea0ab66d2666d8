// SPDX-License-Identifier: Apache-2.0

extension Pages {
    /// The script of the pages with passkeys, the only ones that have one: the browser gives passkeys to scripts only.
    ///
    /// A form with `data-passkey` has the options of the request in `data-options` and sends the browser's response in the field
    /// `credential`. The script converts between the JSON of WebAuthn §5.1 and what `navigator.credentials` takes, since not all
    /// browsers and password managers have `toJSON`. It sends nothing itself and has no texts.
    package static let script = #"""
        "use strict";
        (() => {
          const decode = (text) =>
            Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
          const encode = (bytes) =>
            btoa(Array.from(new Uint8Array(bytes), (b) => String.fromCharCode(b)).join(""))
              .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
          const show = (form, error) => {
            for (const text of form.querySelectorAll("[data-error]")) text.hidden = text.dataset.error !== error;
          };
          const optionsOf = (form) => {
            const options = JSON.parse(form.dataset.options);
            options.challenge = decode(options.challenge);
            if (options.user) options.user.id = decode(options.user.id);
            for (const known of [options.excludeCredentials, options.allowCredentials].flat()) {
              if (known) known.id = decode(known.id);
            }
            return options;
          };
          const textOf = (credential) => {
            const { response } = credential;
            const members = { clientDataJSON: encode(response.clientDataJSON) };
            if (response.attestationObject) {
              members.attestationObject = encode(response.attestationObject);
              if (response.getTransports) members.transports = response.getTransports();
            } else {
              members.authenticatorData = encode(response.authenticatorData);
              members.signature = encode(response.signature);
              if (response.userHandle) members.userHandle = encode(response.userHandle);
            }
            const id = encode(credential.rawId);
            return JSON.stringify({ id, rawId: id, type: credential.type, response: members });
          };
          const ask = async (form, how) => {
            const request = { publicKey: optionsOf(form), ...how };
            const { credentials } = navigator;
            const credential = await (form.dataset.passkey === "create" ? credentials.create(request) : credentials.get(request));
            form.elements.credential.value = textOf(credential);
            form.submit();
          };
          let autofill = null;
          const offer = async (form) => {
            if (!(await PublicKeyCredential.isConditionalMediationAvailable?.())) return;
            autofill = new AbortController();
            // The user need not take what the browser offers beside the field.
            ask(form, { mediation: "conditional", signal: autofill.signal }).catch(() => {});
          };
          const errors = { NotAllowedError: "cancelled", AbortError: "cancelled", InvalidStateError: "registered" };
          for (const form of document.querySelectorAll("form[data-passkey]")) {
            if (!window.PublicKeyCredential) {
              show(form, "unsupported");
              continue;
            }
            form.hidden = false;
            form.addEventListener("submit", async (event) => {
              event.preventDefault();
              show(form, "");
              autofill?.abort();
              try {
                await ask(form, {});
              } catch (error) {
                show(form, errors[error.name] ?? "failed");
              }
            });
            if (form.dataset.passkey === "autofill") offer(form);
          }
        })();

        """#

    /// The version of the script in its URL.
    package static let scriptVersion = version(of: script)
}
