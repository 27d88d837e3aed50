//! Files in an edition, said in the terms of proto3, which is what prost-build understands.
//!
//! Editions name each difference between proto2 and proto3 as a feature that is set on the file and overridden further in.
//! prost-types does not know features, so they are read from the octets.

use crate::{
    error::Error,
    wire::{self, children, number},
};
use prost_types::{
    DescriptorProto, FieldDescriptorProto, FieldOptions, FileDescriptorProto, FileDescriptorSet, field_descriptor_proto as field,
};

/// Rewrites every file of `set` that is in an edition. `octets` is the same set, encoded.
pub(crate) fn lower(set: &mut FileDescriptorSet, octets: &[u8]) -> Result<(), Error> {
    let encoded = children(octets, wire::SET_FILE)?;
    for (file, octets) in set.file.iter_mut().zip(encoded) {
        if file.syntax() == "editions" {
            lower_file(file, octets)?;
        }
    }
    Ok(())
}

/// `Edition.EDITION_2023` and `EDITION_2024`: alike in all that shows on the wire or in a struct.
const KNOWN: [u64; 2] = [1000, 1001];

fn lower_file(file: &mut FileDescriptorProto, octets: &[u8]) -> Result<(), Error> {
    let edition = number(octets, 14)?.unwrap_or(0);
    if !KNOWN.contains(&edition) {
        return Err(Error::message(format!(
            "`{}` is in an edition that is not known here (number {edition}): 2023 and 2024 are",
            file.name()
        )));
    }
    let features = Features::default().overridden(&children(octets, 8)?, 50)?;
    for (message, octets) in file.message_type.iter_mut().zip(children(octets, 4)?) {
        lower_message(message, octets, features)?;
    }
    file.syntax = Some("proto3".to_owned());
    Ok(())
}

fn lower_message(message: &mut DescriptorProto, octets: &[u8], outer: Features) -> Result<(), Error> {
    let features = outer.overridden(&children(octets, 7)?, 12)?;
    let oneofs = children(octets, 8)?;
    let maps: Vec<String> =
        message.nested_type.iter().filter(|nested| is_map(nested)).map(|nested| format!(".{}", nested.name())).collect();
    for (field, octets) in message.field.iter_mut().zip(children(octets, 2)?) {
        let mut features = features;
        if let Some(oneof) = field.oneof_index.and_then(|index| oneofs.get(usize::try_from(index).ok()?)) {
            features = features.overridden(&children(oneof, 2)?, 1)?;
        }
        features = features.overridden(&children(octets, 8)?, 21)?;
        let map = maps.iter().any(|map| field.type_name().ends_with(map.as_str()));
        lower_field(field, features, map);
    }
    for (nested, octets) in message.nested_type.iter_mut().zip(children(octets, 3)?) {
        if !is_map(nested) {
            lower_message(nested, octets, features)?;
        }
    }
    Ok(())
}

fn is_map(message: &DescriptorProto) -> bool {
    message.options.as_ref().is_some_and(|options| options.map_entry())
}

fn lower_field(field: &mut FieldDescriptorProto, features: Features, map: bool) {
    use field::{Label, Type};
    if features.delimited && !map && field.r#type() == Type::Message {
        field.set_type(Type::Group);
    }
    // A message is there or not, whatever is said of scalars.
    let explicit = features.presence == Presence::Explicit || field.r#type() == Type::Group;
    if field.label() == Label::Repeated {
        // Explicit in both cases: what is meant by silence depends on the syntax.
        if !matches!(field.r#type(), Type::String | Type::Bytes | Type::Message | Type::Group) {
            field.options.get_or_insert_with(FieldOptions::default).packed.get_or_insert(features.packed);
        }
    } else if features.presence == Presence::Required {
        field.set_label(Label::Required);
    } else if explicit && field.oneof_index.is_none() {
        field.proto3_optional = Some(true);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Presence {
    Explicit,
    Implicit,
    Required,
}

/// The features that matter to generated code. UTF-8 is checked in any case, and enums are open in any case: prost's are `i32`.
#[derive(Clone, Copy)]
struct Features {
    presence: Presence,
    packed: bool,
    delimited: bool,
}

impl Default for Features {
    fn default() -> Self {
        Self { presence: Presence::Explicit, packed: true, delimited: false }
    }
}

impl Features {
    /// With what the `FeatureSet`s say that are the field `tag` of these options.
    fn overridden(mut self, options: &[&[u8]], tag: u32) -> Result<Self, Error> {
        for options in options {
            for set in children(options, tag)? {
                self.presence = match number(set, 1)? {
                    Some(1) => Presence::Explicit,
                    Some(2) => Presence::Implicit,
                    Some(3) => Presence::Required,
                    _ => self.presence,
                };
                self.packed = number(set, 3)?.map_or(self.packed, |encoding| encoding == 1);
                self.delimited = number(set, 5)?.map_or(self.delimited, |encoding| encoding == 2);
            }
        }
        Ok(self)
    }
}
