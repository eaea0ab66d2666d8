// SPDX-License-Identifier: Apache-2.0

/// A session store, with all its ports: what opens, wraps and closes one.
///
/// All else takes the ports that it needs. No requirement has a default: a store around another one, such as one that counts
/// the calls, must not fall back to it silently.
package protocol SessionStore: RecordStore, EntryStore, LockStore, StoreMaintenance {}
