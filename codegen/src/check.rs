//! What would be a panic of prost-build or a puzzling error of rustc, found before and said in terms of the .proto.

use crate::{
    docs::join,
    error::{Error, Problem},
    messages::Package,
    service::type_name,
};
use heck::ToUpperCamelCase;
use prost_build::Module;
use prost_types::{DescriptorProto, EnumDescriptorProto, FileDescriptorProto};
use std::collections::{BTreeMap, BTreeSet};

/// Checks descriptors that may have been made by anything. `enum_prefix`: values keep the name of their enum in front.
pub(crate) fn descriptors(files: &[FileDescriptorProto], enum_prefix: bool) -> Result<(), Error> {
    let mut types = BTreeSet::new();
    for file in files {
        file.message_type.iter().for_each(|message| collect(message, file.package(), &mut types));
        types.extend(file.enum_type.iter().map(|desc| join(file.package(), desc.name())));
    }
    for file in files {
        let known = Known { file, types: &types, enum_prefix };
        for message in &file.message_type {
            known.message(message)?;
        }
        for desc in &file.enum_type {
            known.enumeration(desc)?;
        }
        for method in file.service.iter().flat_map(|service| &service.method) {
            known.reference(method.input_type())?;
            known.reference(method.output_type())?;
        }
    }
    Ok(())
}

fn collect(message: &DescriptorProto, scope: &str, types: &mut BTreeSet<String>) {
    let name = join(scope, message.name());
    message.nested_type.iter().for_each(|nested| collect(nested, &name, types));
    types.extend(message.enum_type.iter().map(|desc| join(&name, desc.name())));
    types.insert(name);
}

struct Known<'a> {
    file: &'a FileDescriptorProto,
    types: &'a BTreeSet<String>,
    enum_prefix: bool,
}

impl Known<'_> {
    fn message(&self, message: &DescriptorProto) -> Result<(), Error> {
        for field in message.field.iter().filter(|field| field.type_name.is_some()) {
            self.reference(field.type_name())?;
        }
        message.enum_type.iter().try_for_each(|desc| self.enumeration(desc))?;
        message.nested_type.iter().try_for_each(|nested| self.message(nested))
    }

    fn reference(&self, name: &str) -> Result<(), Error> {
        if name.strip_prefix('.').is_some_and(|name| self.types.contains(name)) {
            return Ok(());
        }
        let problem = Problem::new(format!("`{}` uses the type `{name}`, which is not in the descriptor set", self.file.name()));
        Err(Error::new(problem.help("the set must hold all that its files import: `protoc --include_imports`")))
    }

    /// prost-build drops the name of the enum in front of the names of its values; then two may be one.
    fn enumeration(&self, desc: &EnumDescriptorProto) -> Result<(), Error> {
        let prefix = if self.enum_prefix { String::new() } else { desc.name().to_upper_camel_case() };
        let mut numbers = BTreeSet::new();
        let mut names = BTreeMap::new();
        for value in desc.value.iter().filter(|value| numbers.insert(value.number())) {
            let name = value.name().to_upper_camel_case();
            let short = name.strip_prefix(&prefix).filter(|rest| rest.starts_with(char::is_uppercase)).unwrap_or(&name).to_owned();
            if let Some(other) = names.insert(short.clone(), value.name()) {
                let (desc, file, value) = (desc.name(), self.file.name(), value.name());
                let problem =
                    Problem::new(format!("enum `{desc}` of `{file}`: the values `{other}` and `{value}` would both be `{short}` in Rust"));
                return Err(Error::new(problem.help("rename one; or `.enum_prefix(true)` if the enum's name in front tells them apart")));
            }
        }
        Ok(())
    }
}

/// prost-build puts what is nested in message `A.B` into the module `a::b`, where the package `a.b` would be too.
pub(crate) fn modules(files: &[FileDescriptorProto]) -> Result<(), Error> {
    let parts = |package: &str| Module::from_protobuf_package_name(package).parts().map(str::to_owned).collect::<Vec<_>>();
    let packages: BTreeSet<&str> = files.iter().map(FileDescriptorProto::package).collect();
    for file in files {
        let outer = parts(file.package());
        for message in file.message_type.iter().filter(|message| has_module(message)) {
            let inner = [outer.clone(), parts(message.name())].concat();
            if let Some(package) = packages.iter().find(|package| parts(package).starts_with(&inner)) {
                let message = join(file.package(), message.name());
                let problem =
                    Problem::new(format!("the package `{package}` and what is nested in message `{message}` would share a module in Rust"));
                return Err(Error::new(problem.help("rename one of them")));
            }
        }
    }
    Ok(())
}

fn has_module(message: &DescriptorProto) -> bool {
    let map = |nested: &DescriptorProto| nested.options.as_ref().is_some_and(|options| options.map_entry());
    let in_oneof = message.field.iter().any(|field| field.oneof_index.is_some() && !field.proto3_optional());
    in_oneof || !message.enum_type.is_empty() || message.nested_type.iter().any(|nested| !map(nested))
}

/// Two things in one module of generated code that would have one name.
pub(crate) fn names(package: &Package, files: &[FileDescriptorProto], glue: &dyn Fn(&str) -> Vec<String>) -> Result<(), Error> {
    let Package { name: package, services, .. } = package;
    let mut taken: BTreeMap<String, String> = BTreeMap::new();
    let mut take = |name: String, what: String| match taken.insert(name.clone(), what.clone()) {
        Some(other) if other != what => {
            let problem = Problem::new(format!("package `{package}`: {other} and {what} would both be called `{name}` in Rust"));
            Err(Error::new(problem.help("rename one; `.separate_glue(true)` puts clients and servers into a module of their own")))
        }
        _ => Ok(()),
    };
    for file in files.iter().filter(|file| file.package() == package) {
        for name in file.message_type.iter().map(|m| m.name()).chain(file.enum_type.iter().map(|e| e.name())) {
            take(type_name(name), format!("the type `{name}`"))?;
        }
    }
    for service in services {
        for name in glue(&service.name) {
            take(name, format!("what is made of service `{}`", service.full_name))?;
        }
        let mut methods: BTreeMap<&str, &str> = BTreeMap::new();
        for method in &service.methods {
            if let Some(other) = methods.insert(&method.name, &method.proto_name) {
                return Err(Error::message(format!(
                    "service `{}`: the methods `{other}` and `{}` would both be called `{}` in Rust; rename one",
                    service.full_name, method.proto_name, method.name
                )));
            }
        }
    }
    Ok(())
}
