//! build.rs helper: .proto in, messages, descriptors, clients and service traits out. No protoc needed.
