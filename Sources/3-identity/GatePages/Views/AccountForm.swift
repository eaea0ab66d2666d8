// SPDX-License-Identifier: Apache-2.0

/// A text about what a user has sent, with its variables.
package struct PageRemark: Sendable {
    let text: PageText
    let values: [String: String]

    /// A text with the values of its variables.
    package init(_ text: PageText, _ values: [String: String] = [:]) {
        (self.text, self.values) = (text, values)
    }
}

/// What the forms of local accounts have in common.
package struct AccountForm {
    private let action: String
    private let hidden: [(name: String, value: String)]
    private let remark: PageRemark?

    /// - Parameters:
    ///   - action: Where the form leads.
    ///   - hidden: The hidden fields.
    ///   - remark: What was wrong with what the user has sent; nil at first.
    package init(action: String, hidden: [(name: String, value: String)], remark: PageRemark? = nil) {
        (self.action, self.hidden, self.remark) = (action, hidden, remark)
    }

    /// The names of the fields.
    package enum Field {
        /// The email address or user name.
        package static let username = "username"
        /// The email address for a link.
        package static let email = "email"
        /// The full name of a user who registers.
        package static let name = "name"
        package static let password = "password"
        /// A time-based code or a recovery code.
        package static let code = "code"
        /// A password that the user chooses.
        package static let newPassword = "new_password"
        /// The same once more.
        package static let repeated = "repeat_password"
        /// What the form on the page about credentials is to do.
        package static let action = "action"
    }

    /// What a form on the page about credentials is to do.
    package enum Action: String, Sendable {
        /// Change the password.
        case password
        /// Add the second factor.
        case enrol
        /// Remove the second factor.
        case remove
    }

    /// The values of a template.
    func values(in language: PageLanguage) -> [String: Any] {
        let values: [String: Any] = [
            "action": self.action, "hidden": self.hidden.map { ["field": $0.name, "sealed": $0.value] },
            "hasRemark": self.remark != nil, "remark": self.remark.map { language.template($0.text).value } ?? "",
        ]
        return values.merging(self.remark?.values ?? [:]) { first, _ in first }
    }
}

/// What the page about credentials shows of the second factor.
package enum SecondFactorView {
    /// There is one, with so many recovery codes left.
    case on(recoveryCodes: Int)
    /// There is no second factor yet: the secret to add as text and as a link, and sealed for the form.
    case off(secret: String, link: String, enrolment: String)

    /// The values of a template.
    var values: [String: Any] {
        switch self {
        case .on(let left): ["isOn": true, "left": left]
        case .off(let secret, let link, let enrolment):
            ["isOn": false, "secret": secret, "link": link, "enrolment": enrolment]
        }
    }
}
