// SPDX-License-Identifier: Apache-2.0

/// Finds the lines of a file that hold one of some words; it gets the file in pieces and keeps at most one line of it.
struct LineScanner {
    /// The longest line, in bytes, that is looked at; the gateway's own are shorter.
    static let maxLine = 128 * 1024

    private let words: [SearchWord]
    /// What has arrived of a line.
    private var rest: [UInt8] = []
    /// Whether the line that is arriving is too long.
    private var isSkipping = false
    /// How many bytes have arrived.
    private(set) var size = 0
    /// The first line and the latest one, for their times.
    private(set) var first: [UInt8]?
    private(set) var last: [UInt8]?

    /// A scanner for lines with any of these words, which are not empty.
    init(for words: some Collection<String>) {
        self.words = words.map { SearchWord($0) }
    }

    /// How many bytes of a line are kept until the rest of it arrives.
    var pending: Int { self.rest.count }

    /// Takes the next piece of the file.
    ///
    /// - Parameters:
    ///   - piece: The bytes.
    ///   - found: Called with each line that holds a word, without its line break.
    mutating func take(_ piece: [UInt8], found: ([UInt8]) -> Void) {
        self.size += piece.count
        let bytes = self.rest + piece
        guard let end = bytes.lastIndex(of: 0x0A) else {
            self.rest = bytes
            if self.rest.count > LineScanner.maxLine { self.skip() }
            return
        }
        self.scan(bytes, upTo: end + 1, found)
        self.rest = Array(bytes[(end + 1)...])
        if self.rest.count > LineScanner.maxLine { self.skip() }
    }

    /// Takes the end of the file; its last line may lack its line break.
    mutating func end(found: ([UInt8]) -> Void) {
        guard !self.rest.isEmpty else { return }
        let bytes = self.rest + [0x0A]
        self.rest = []
        self.scan(bytes, upTo: bytes.count, found)
    }

    private mutating func skip() {
        self.isSkipping = true
        self.rest = []
    }

    /// Looks at whole lines; the last byte is a line break.
    private mutating func scan(_ bytes: [UInt8], upTo end: Int, _ found: ([UInt8]) -> Void) {
        var start = 0
        if self.isSkipping {
            start = (bytes.firstIndex(of: 0x0A) ?? end - 1) + 1
            self.isSkipping = false
        }
        guard start < end else { return }
        if self.first == nil { self.first = LineScanner.line(in: bytes, at: start, end) }
        let lastStart = (bytes[start..<(end - 1)].lastIndex(of: 0x0A) ?? start - 1) + 1
        self.last = LineScanner.line(in: bytes, at: lastStart, end)
        var starts: Set<Int> = []
        for word in self.words {
            var position = start
            while let place = word.place(in: bytes.span, from: position, upTo: end) {
                let line = (bytes[start..<place].lastIndex(of: 0x0A) ?? start - 1) + 1
                starts.insert(line)
                position = (bytes[place..<end].firstIndex(of: 0x0A) ?? end - 1) + 1
            }
        }
        for line in starts.sorted() {
            let bytes = LineScanner.line(in: bytes, at: line, end)
            if bytes.count <= LineScanner.maxLine { found(bytes) }
        }
    }

    private static func line(in bytes: [UInt8], at start: Int, _ end: Int) -> [UInt8] {
        Array(bytes[start..<(bytes[start..<end].firstIndex(of: 0x0A) ?? end)])
    }
}

/// A word that is searched for in bytes, by the method of Horspool: most bytes are not looked at.
private struct SearchWord {
    private let bytes: [UInt8]
    /// How far the word can be moved if its end is at a byte.
    private var steps: [Int]

    init(_ word: String) {
        self.bytes = Array(word.utf8)
        self.steps = [Int](repeating: self.bytes.count, count: 256)
        for (position, byte) in self.bytes.dropLast().enumerated() {
            self.steps[Int(byte)] = self.bytes.count - 1 - position
        }
    }

    /// Where the word begins first; nil if it is not there.
    func place(in text: Span<UInt8>, from start: Int, upTo end: Int) -> Int? {
        var position = start
        while position + self.bytes.count <= end {
            let last = text[position + self.bytes.count - 1]
            if last == self.bytes[self.bytes.count - 1], self.isAt(position, in: text) { return position }
            position += self.steps[Int(last)]
        }
        return nil
    }

    private func isAt(_ position: Int, in text: Span<UInt8>) -> Bool {
        for (offset, byte) in self.bytes.enumerated() where text[position + offset] != byte { return false }
        return true
    }
}
