// SPDX-License-Identifier: Apache-2.0

/// The objects that tests of higher modules build once over a fixture, by their types.
package final class Companions {
    private var objects: [ObjectIdentifier: AnyObject] = [:]

    /// The one object of a type, made when it is first asked for.
    package func one<Companion: AnyObject>(_ make: () -> Companion) -> Companion {
        if let object = self.objects[ObjectIdentifier(Companion.self)] as? Companion { return object }
        let object = make()
        self.objects[ObjectIdentifier(Companion.self)] = object
        return object
    }
}
