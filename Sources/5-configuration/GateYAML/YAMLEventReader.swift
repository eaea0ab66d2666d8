// SPDX-License-Identifier: Apache-2.0

internal import CLibYAML

/// One step of a YAML text, copied out of libyaml.
struct YAMLEvent {
    enum Kind: Equatable {
        case streamStart
        case streamEnd
        case documentStart
        case documentEnd
        case alias(String)
        case scalar(String, isPlain: Bool)
        case sequenceStart
        case sequenceEnd
        case mappingStart
        case mappingEnd
    }

    let kind: Kind
    let anchor: String?
    let hasTag: Bool
    let mark: YAMLMark
    let end: YAMLMark
}

/// Steps through a YAML text with libyaml; the one file of the target that touches C.
///
/// Owned by the call that parses one text and not shared; the memory of libyaml lives as long as the reader.
@safe final class YAMLEventReader {
    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private let input: UnsafeMutableBufferPointer<UInt8>
    private let isReady: Bool

    /// A reader over bytes that are known to be UTF-8.
    init(_ bytes: [UInt8]) {
        unsafe self.input = .allocate(capacity: max(1, bytes.count))
        _ = unsafe self.input.initialize(from: bytes)
        unsafe self.parser = .allocate(capacity: 1)
        unsafe self.parser.initialize(to: yaml_parser_t())
        unsafe self.isReady = yaml_parser_initialize(self.parser) == 1
        guard self.isReady else { return }
        unsafe yaml_parser_set_encoding(self.parser, YAML_UTF8_ENCODING)
        unsafe yaml_parser_set_input_string(self.parser, self.input.baseAddress, bytes.count)
    }

    deinit {
        if self.isReady { unsafe yaml_parser_delete(self.parser) }
        unsafe self.parser.deallocate()
        unsafe self.input.deallocate()
    }

    /// The next step, or the error of the text.
    func next() throws(YAMLFailure) -> YAMLEvent {
        guard self.isReady else { throw YAMLFailure(message: "out of memory", mark: .start) }
        var event = unsafe yaml_event_t()
        guard unsafe yaml_parser_parse(self.parser, &event) == 1 else { throw self.failure }
        defer { unsafe yaml_event_delete(&event) }
        let start = unsafe YAMLMark(event.start_mark)
        let end = unsafe YAMLMark(event.end_mark)
        let node = unsafe YAMLEventReader.node(of: event)
        return YAMLEvent(kind: node.kind, anchor: node.anchor, hasTag: node.hasTag, mark: start, end: end)
    }

    private static func node(of event: yaml_event_t) -> (kind: YAMLEvent.Kind, anchor: String?, hasTag: Bool) {
        switch unsafe event.type {
        case YAML_SCALAR_EVENT:
            let scalar = unsafe event.data.scalar
            let text = unsafe String(
                decoding: UnsafeBufferPointer(start: scalar.value, count: scalar.length),
                as: UTF8.self
            )
            let isPlain = unsafe scalar.style == YAML_PLAIN_SCALAR_STYLE
            return unsafe (.scalar(text, isPlain: isPlain), self.text(scalar.anchor), scalar.tag != nil)
        case YAML_SEQUENCE_START_EVENT:
            let start = unsafe event.data.sequence_start
            return unsafe (.sequenceStart, self.text(start.anchor), start.tag != nil)
        case YAML_MAPPING_START_EVENT:
            let start = unsafe event.data.mapping_start
            return unsafe (.mappingStart, self.text(start.anchor), start.tag != nil)
        case YAML_ALIAS_EVENT:
            return unsafe (.alias(self.text(event.data.alias.anchor) ?? ""), nil, false)
        case YAML_SEQUENCE_END_EVENT: return (.sequenceEnd, nil, false)
        case YAML_MAPPING_END_EVENT: return (.mappingEnd, nil, false)
        case YAML_DOCUMENT_START_EVENT: return (.documentStart, nil, false)
        case YAML_DOCUMENT_END_EVENT: return (.documentEnd, nil, false)
        case YAML_STREAM_START_EVENT: return (.streamStart, nil, false)
        default: return (.streamEnd, nil, false)
        }
    }

    private static func text(_ value: UnsafeMutablePointer<yaml_char_t>?) -> String? {
        guard let value = unsafe value else { return nil }
        return unsafe String(cString: value)
    }

    /// Why the last step failed.
    private var failure: YAMLFailure {
        let text = unsafe self.parser.pointee.problem.map { unsafe String(cString: $0) } ?? "out of memory"
        let context = unsafe self.parser.pointee.context.map { unsafe String(cString: $0) }
        let place = unsafe YAMLMark(self.parser.pointee.problem_mark)
        let began = unsafe YAMLMark(self.parser.pointee.context_mark)
        if unsafe self.parser.pointee.error == YAML_READER_ERROR {
            let offset = unsafe self.parser.pointee.problem_offset
            return YAMLFailure(message: "control characters are not allowed", mark: self.mark(ofByte: offset))
        }
        return YAMLFailure(libYAML: text, context: context, at: place, began: began, byte: self.byte(at: place))
    }

    private func mark(ofByte offset: Int) -> YAMLMark {
        let before = unsafe Array(self.input.prefix(max(0, offset)))
        return SourceLines(before).end
    }

    /// The first byte of the character at a mark, to distinguish a tab from other errors.
    private func byte(at mark: YAMLMark) -> UInt8? {
        let bytes = unsafe Array(self.input)
        return SourceLines(bytes).text(ofLine: mark.line)?.dropFirst(mark.column - 1).utf8.first
    }
}

extension YAMLMark {
    /// The mark of libyaml, which counts from 0.
    fileprivate init(_ mark: yaml_mark_t) {
        self.init(line: Int(mark.line) + 1, column: Int(mark.column) + 1)
    }
}

extension DecodingContext {
    /// The version of libyaml at run time.
    package static var libraryVersion: String { unsafe String(cString: yaml_get_version_string()) }
}
