// SPDX-License-Identifier: Apache-2.0

/// What a page shows that asks a user whether a client may sign them in.
package struct ConsentView {
    let client: String
    private let apps: [String]
    private let action: String
    private let field: (name: String, value: String)
    private let choice: (name: String, allow: String, deny: String)

    /// - Parameters:
    ///   - client: The name of the client.
    ///   - apps: The apps in which the client may act for the user, and what it may do there.
    ///   - action: Where the form leads.
    ///   - field: The hidden field of the form.
    ///   - choice: The field with the user's choice, and its values.
    package init(
        client: String,
        apps: [String],
        action: String,
        field: (name: String, value: String),
        choice: (name: String, allow: String, deny: String)
    ) {
        (self.client, self.apps, self.action) = (client, apps, action)
        (self.field, self.choice) = (field, choice)
    }

    /// The values of a template.
    var values: [String: Any] {
        [
            "client": self.client, "apps": self.apps, "hasApps": !self.apps.isEmpty, "action": self.action,
            "field": self.field.name, "sealed": self.field.value, "choice": self.choice.name,
            "allow": self.choice.allow, "deny": self.choice.deny,
        ]
    }
}
