//! The conversion of a Protobuf schema to the numbers of the fields that are used.
//!
//! Fields are found by name, ignoring case and underscores. The names from Akvorado, goflow2 and goflow are recognised.

use prost_types::DescriptorProto;
use prost_types::field_descriptor_proto::Type;

/// Maximum field number that is supported. The number is limited because it is used as an index.
const MOST_NUMBER: i32 = 65_535;

/// Maximum number of opening brackets in a schema. The parser recurses at each nested bracket, and several hundred
/// levels would overflow the stack. Comments and strings are not distinguished, because the schema may be hostile.
const MOST_BRACKETS: usize = 100;

/// The part of a contact that a field contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Source,
    Destination,
    Exporter,
    Sampling,
    ReceivedSeconds,
    ReceivedNs,
    EndSeconds,
    EndNs,
    Packets,
    Octets,
    Protocol,
    SourcePort,
    DestinationPort,
    TcpFlags,
    Ingress,
}

impl Part {
    const fn is_address(self) -> bool {
        matches!(self, Self::Source | Self::Destination | Self::Exporter)
    }
}

/// Field names, in lower case and without underscores.
const NAMES: [(&str, Part); 17] = [
    ("srcaddr", Part::Source),
    ("dstaddr", Part::Destination),
    ("exporteraddress", Part::Exporter),
    ("sampleraddress", Part::Exporter),
    ("samplingrate", Part::Sampling),
    ("timereceived", Part::ReceivedSeconds),
    ("timereceivedns", Part::ReceivedNs),
    ("timeflowend", Part::EndSeconds),
    ("timeflowendns", Part::EndNs),
    ("packets", Part::Packets),
    ("bytes", Part::Octets),
    ("proto", Part::Protocol),
    ("srcport", Part::SourcePort),
    ("dstport", Part::DestinationPort),
    ("tcpflags", Part::TcpFlags),
    ("tcpflag", Part::TcpFlags),
    ("inif", Part::Ingress),
];

/// Field numbers of goflow2, plus the numbers of the fields in which goflow writes times in seconds.
const GOFLOW2: [(i32, Part); 15] = [
    (2, Part::ReceivedSeconds),
    (3, Part::Sampling),
    (5, Part::EndSeconds),
    (6, Part::Source),
    (7, Part::Destination),
    (9, Part::Octets),
    (10, Part::Packets),
    (11, Part::Exporter),
    (18, Part::Ingress),
    (20, Part::Protocol),
    (21, Part::SourcePort),
    (22, Part::DestinationPort),
    (26, Part::TcpFlags),
    (110, Part::ReceivedNs),
    (112, Part::EndNs),
];

/// A mapping from the field numbers of a message to the parts of a contact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    message: String,
    /// Parts, indexed by field number.
    parts: Vec<Option<Part>>,
}

/// The reason why a schema is rejected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// The schema cannot be read.
    #[error("cannot read the schema {name}: {cause}")]
    Read {
        /// File or URL of the schema.
        name: String,
        /// The cause.
        cause: String,
    },
    /// The text is not a schema.
    #[error("cannot parse the schema: {0}")]
    Syntax(String),
    /// The schema has more than 100 opening brackets, which could be nested too deeply for the parser.
    #[error(
        "the schema has more than {MOST_BRACKETS} opening brackets; keep only the message of flows"
    )]
    Brackets,
    /// No message has fields for both addresses of a flow.
    #[error(
        "the schema has no message with the fields SrcAddr and DstAddr, or src_addr and dst_addr"
    )]
    NoMessage,
    /// Several messages have fields for both addresses of a flow.
    #[error("several messages of the schema have source and destination addresses ({}); keep only one of them", .0.join(", "))]
    Ambiguous(Vec<String>),
    /// The type of a field is not supported.
    #[error("the field {field} of the message {message} has an unsupported type")]
    Type {
        /// Name of the message.
        message: String,
        /// Name of the field.
        field: String,
    },
    /// A field has the same number as another field.
    #[error("the field {field} of the message {message} has the number of another field")]
    Repeated {
        /// Name of the message.
        message: String,
        /// Name of the field.
        field: String,
    },
    /// A field number is too large.
    #[error("the field {field} of the message {message} has a number above {MOST_NUMBER}")]
    Number {
        /// Name of the message.
        message: String,
        /// Name of the field.
        field: String,
    },
}

impl Layout {
    /// Returns the layout of goflow2's `FlowMessage`.
    #[must_use]
    pub fn goflow2() -> Self {
        let mut layout = Self { message: "FlowMessage".to_owned(), parts: Vec::new() };
        GOFLOW2.into_iter().for_each(|(number, part)| layout.put(number as usize, part));
        layout
    }

    /// Parses `schema`, the text of a .proto file. Exactly one of its messages must have fields for both addresses of a
    /// flow.
    ///
    /// # Errors
    /// Returns [`SchemaError`] if `schema` has a syntax error or more than 100 opening brackets, or if no or several
    /// messages have fields for both addresses. A used field with an unsupported type or number, or with the number of
    /// another used field, is an error too.
    pub fn parse(schema: &str) -> Result<Self, SchemaError> {
        if schema.bytes().filter(|byte| b"{[<".contains(byte)).count() > MOST_BRACKETS {
            return Err(SchemaError::Brackets);
        }
        let file = protox_parse::parse("schema.proto", schema)
            .map_err(|error| SchemaError::Syntax(error.to_string()))?;
        let mut flows = Vec::new();
        file.message_type.iter().for_each(|message| find_flows(message, &mut flows));
        match &flows[..] {
            [] => Err(SchemaError::NoMessage),
            [message] => Self::of(message),
            several => Err(SchemaError::Ambiguous(
                several.iter().map(|message| message.name().to_owned()).collect(),
            )),
        }
    }

    fn of(message: &DescriptorProto) -> Result<Self, SchemaError> {
        let name = message.name();
        let mut layout = Self { message: name.to_owned(), parts: Vec::new() };
        for field in &message.field {
            let Some(part) = part(field.name()) else { continue };
            let is_address = part.is_address();
            let is_right = match field.r#type() {
                Type::Bytes => is_address,
                Type::Uint32
                | Type::Uint64
                | Type::Int32
                | Type::Int64
                | Type::Fixed32
                | Type::Fixed64 => !is_address,
                _ => false,
            };
            let (message, field_name) = (name.to_owned(), field.name().to_owned());
            // If a field has no type here, its type is defined elsewhere in the schema.
            if !is_right || field.r#type.is_none() {
                return Err(SchemaError::Type { message, field: field_name });
            }
            match usize::try_from(field.number()) {
                Ok(number) if layout.part(number as u64).is_some() => {
                    return Err(SchemaError::Repeated { message, field: field_name });
                }
                Ok(number) if field.number() <= MOST_NUMBER => layout.put(number, part),
                _ => return Err(SchemaError::Number { message, field: field_name }),
            }
        }
        Ok(layout)
    }

    /// Returns a schema from which [`parse`](Self::parse) restores this layout.
    #[must_use]
    pub fn schema(&self) -> String {
        let field = |(number, part): (usize, &Option<Part>)| {
            let part = (*part)?;
            let (name, _) = NAMES.iter().find(|(_, known)| *known == part)?;
            let kind = if part.is_address() { "bytes" } else { "uint64" };
            Some(format!("{kind} {name} = {number};"))
        };
        let fields: Vec<_> = self.parts.iter().enumerate().filter_map(field).collect();
        format!("syntax = \"proto3\"; message {} {{ {} }}", self.message, fields.join(" "))
    }

    fn put(&mut self, number: usize, part: Part) {
        if self.parts.len() <= number {
            self.parts.resize(number + 1, None);
        }
        self.parts[number] = Some(part);
    }

    /// Returns the name of the message.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    #[inline(always)]
    pub(super) fn part(&self, number: u64) -> Option<Part> {
        self.parts.get(number as usize).copied().flatten()
    }

    /// Returns the name of the topic for messages of this schema. `name` may lack the schema hash that Akvorado appends
    /// to topic names.
    #[cfg(any(feature = "kafka", test))]
    pub(crate) fn topic(&self, name: &str) -> String {
        match self.message.strip_prefix("FlowMessagev") {
            Some(hash) if !hash.is_empty() && !name.ends_with(hash) => format!("{name}-{hash}"),
            _ => name.to_owned(),
        }
    }
}

fn find_flows<'a>(message: &'a DescriptorProto, flows: &mut Vec<&'a DescriptorProto>) {
    let has = |wanted| message.field.iter().any(|field| part(field.name()) == Some(wanted));
    if has(Part::Source) && has(Part::Destination) {
        flows.push(message);
    }
    message.nested_type.iter().for_each(|message| find_flows(message, flows));
}

fn part(field: &str) -> Option<Part> {
    let name = field.replace('_', "").to_ascii_lowercase();
    NAMES.iter().find(|(known, _)| *known == name).map(|(_, part)| *part)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A schema with the field names of Akvorado.
    const ENRICHED: &str = r#"
        syntax = "proto3";
        message FlowMessagevABC {
          enum Boundary { UNDEFINED = 0; EXTERNAL = 1; INTERNAL = 2; }
          uint64 TimeReceived = 1;
          uint64 SamplingRate = 2;
          bytes ExporterAddress = 3;
          string ExporterName = 4;
          bytes SrcAddr = 9;
          bytes DstAddr = 10;
          Boundary InIfBoundary = 30;
          repeated uint32 DstASPath = 31;
          uint32 Proto = 40;
          uint32 SrcPort = 41;
          uint32 DstPort = 42;
          uint64 Bytes = 43;
          uint64 Packets = 44;
          uint32 TCPFlags = 50;
          uint32 InIf = 52;
        }"#;

    #[test]
    fn fields_are_found_by_their_names() {
        let layout = Layout::parse(ENRICHED).unwrap();
        let parts: Vec<_> =
            (0..60).filter_map(|number| Some((number, layout.part(number)?))).collect();
        assert_eq!(
            parts,
            [
                (1, Part::ReceivedSeconds),
                (2, Part::Sampling),
                (3, Part::Exporter),
                (9, Part::Source),
                (10, Part::Destination),
                (40, Part::Protocol),
                (41, Part::SourcePort),
                (42, Part::DestinationPort),
                (43, Part::Octets),
                (44, Part::Packets),
                (50, Part::TcpFlags),
                (52, Part::Ingress),
            ]
        );
        assert_eq!(layout.message(), "FlowMessagevABC");
        assert_eq!(layout.topic("flows-enriched"), "flows-enriched-ABC");
        assert_eq!(layout.topic("flows-enriched-ABC"), "flows-enriched-ABC");
        assert_eq!(Layout::goflow2().topic("flows"), "flows");
        for layout in [layout, Layout::goflow2()] {
            assert_eq!(Layout::parse(&layout.schema()).unwrap(), layout);
        }
    }

    #[test]
    fn goflow2_is_a_schema_like_others() {
        let schema = r#"syntax = "proto3"; package flowpb;
            message FlowMessage { uint64 time_received = 2; uint64 sampling_rate = 3; uint64 time_flow_end = 5;
            bytes src_addr = 6; bytes dst_addr = 7; uint64 bytes = 9; uint64 packets = 10; bytes sampler_address = 11; uint32 in_if = 18; uint32 proto = 20;
            uint32 src_port = 21; uint32 dst_port = 22; uint32 tcp_flags = 26; uint64 time_received_ns = 110; uint64 time_flow_end_ns = 112; }"#;
        assert_eq!(Layout::parse(schema).unwrap(), Layout::goflow2());
    }

    #[test]
    fn schemas_without_one_flow_are_errors() {
        let of =
            |fields: &str| Layout::parse(&format!("syntax = \"proto3\"; message M {{ {fields} }}"));
        for text in ["no schema", "option number = 018;"] {
            assert!(matches!(Layout::parse(text), Err(SchemaError::Syntax(_))), "{text}");
        }
        assert!(matches!(of("bytes SrcAddr = 1;"), Err(SchemaError::NoMessage)));
        let flow = "bytes SrcAddr = 1; bytes DstAddr = 2;";
        assert!(of(flow).is_ok());
        let two = of(&format!("{flow} message N {{ {flow} }}"));
        assert!(matches!(two, Err(SchemaError::Ambiguous(names)) if names == ["M", "N"]));
        for field in ["string ExporterAddress", "bytes SamplingRate", "sint64 Packets", "M Proto"] {
            let error = of(&format!("{flow} {field} = 3;")).unwrap_err();
            let SchemaError::Type { message, field: name } = error else { panic!("{error}") };
            assert_eq!((message.as_str(), Some(name.as_str())), ("M", field.split(' ').nth(1)));
        }
        let same = of("bytes SrcAddr = 2; bytes DstAddr = 2;");
        assert!(matches!(same, Err(SchemaError::Repeated { field, .. }) if field == "DstAddr"));
        let large = of(&format!("{flow} uint64 Packets = 65536;"));
        assert!(matches!(large, Err(SchemaError::Number { .. })));
    }

    #[test]
    fn deeply_nested_schemas_are_refused() {
        let of = |open: &str, close: &str, depth: usize| {
            Layout::parse(&format!("{}{}", open.repeat(depth), close.repeat(depth)))
        };
        for (open, close) in
            [("message A { ", "}"), ("message A { /*}*/ ", ""), ("option a={b:[", "]}")]
        {
            for depth in [101, 50_000] {
                assert!(matches!(of(open, close, depth), Err(SchemaError::Brackets)), "{open}");
            }
        }
        assert!(matches!(of("message A { ", "}", 100), Err(SchemaError::NoMessage)));
    }
}
