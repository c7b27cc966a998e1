//! Everything registered with its parameters, read from the configuration types' JSON Schemas.

use airpath_core::scenario::{Flow, Multipath, Scenario};
use airpath_core::{
    app, channel, controller, fading, link, middlebox, queue, radio, rlc, scheduler, tcp, umts,
};
use schemars::{JsonSchema, schema_for};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// One object for each component: folder, name, description, parameters.
pub fn registry() -> Value {
    let mut components = Vec::new();
    add(&mut components, "app", &app::Config::defaults());
    add(&mut components, "channel", &channel::Config::defaults());
    add(&mut components, "controller", &controller::Config::defaults());
    add(&mut components, "fading", &fading::Config::defaults());
    add(&mut components, "middlebox", &middlebox::Config::defaults());
    add(&mut components, "queue", &queue::Config::defaults());
    add(&mut components, "radio", &radio::Config::defaults());
    add(&mut components, "rlc", &rlc::Config::defaults());
    add(&mut components, "scheduler", &scheduler::Config::defaults());
    add(&mut components, "multipath.scheduler", &tcp::multipath::scheduler::Config::defaults());
    add(&mut components, "tcp.cc", &tcp::cc::Config::defaults());
    add(&mut components, "tcp.recovery", &tcp::recovery::Config::defaults());
    add(&mut components, "tcp.undo", &tcp::undo::Config::defaults());
    let scenario = json!({ "duration": Scenario::default().duration });
    components.push(component("", "scenario", &schema::<Scenario>(), &scenario));
    components.push(part::<Flow>("flow"));
    components.push(part::<Multipath>("multipath"));
    components.push(part::<tcp::Config>("tcp"));
    components.push(part::<link::Config>("wired"));
    components.push(part::<umts::Config>("umts"));
    Value::Array(components)
}

fn schema<T: JsonSchema>() -> Value {
    schema_for!(T).into()
}

/// A part of a scenario that is no component.
fn part<T: JsonSchema + Serialize + Default>(name: &str) -> Value {
    component("", name, &schema::<T>(), &serde_json::to_value(T::default()).unwrap_or_default())
}

/// Adds the components of a folder: `defaults` holds each with its default configuration, which
/// serialises as `{name: parameters}`.
fn add<T: JsonSchema + Serialize>(components: &mut Vec<Value>, folder: &str, defaults: &[T]) {
    let schema = schema::<T>();
    for config in defaults {
        let Ok(Value::Object(tagged)) = serde_json::to_value(config) else { continue };
        for (name, values) in &tagged {
            let variant = schema["oneOf"]
                .as_array()
                .into_iter()
                .flatten()
                .find_map(|variant| variant["properties"].get(name));
            let resolved = resolve(&schema, variant.unwrap_or(&Value::Null));
            let mut entry = component(folder, name, resolved, values);
            entry["parameters"] = parameters(&schema, resolved, values);
            components.push(entry);
        }
    }
}

fn component(folder: &str, name: &str, schema: &Value, values: &Value) -> Value {
    json!({
        "folder": folder,
        "name": name,
        "description": schema["description"].as_str().unwrap_or(""),
        "parameters": parameters(schema, schema, values),
    })
}

/// The parameters of a configuration; those of a part of it under dotted names.
fn parameters(root: &Value, schema: &Value, defaults: &Value) -> Value {
    let mut found = Vec::new();
    collect(root, schema, defaults, "", &mut found);
    Value::Array(found)
}

fn collect(root: &Value, schema: &Value, defaults: &Value, prefix: &str, found: &mut Vec<Value>) {
    let empty = Map::new();
    for (name, property) in schema["properties"].as_object().unwrap_or(&empty) {
        let shape = resolve(root, property);
        let name = format!("{prefix}{name}");
        let default = defaults.get(name.rsplit('.').next().unwrap_or_default()).unwrap_or(&Value::Null);
        if shape["properties"].is_object() {
            collect(root, shape, default, &format!("{name}."), found);
            continue;
        }
        let own = property["description"].as_str();
        found.push(json!({
            "name": name,
            "type": type_of(root, shape),
            "default": default,
            "description": own.or(shape["description"].as_str()).unwrap_or(""),
        }));
    }
}

/// Follows a reference into the schema's definitions.
fn resolve<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let target = schema["$ref"].as_str().or_else(|| {
        let choices = schema["anyOf"].as_array().or_else(|| schema["allOf"].as_array())?;
        choices.iter().find_map(|choice| choice["$ref"].as_str())
    });
    target.and_then(|target| root.pointer(target.trim_start_matches('#'))).unwrap_or(schema)
}

/// A few words for what may be written.
fn type_of(root: &Value, schema: &Value) -> String {
    if let Some(choices) = schema["oneOf"].as_array().or(schema["anyOf"].as_array()) {
        let words: Vec<String> = choices.iter().map(|choice| type_of(root, resolve(root, choice))).collect();
        return words.join(" | ");
    }
    if !schema["const"].is_null() {
        return schema["const"].to_string();
    }
    if let Some(words) = schema["enum"].as_array() {
        return words
            .iter()
            .filter_map(Value::as_str)
            .map(|word| format!("\"{word}\""))
            .collect::<Vec<_>>()
            .join(" | ");
    }
    if let Some(example) = schema["examples"].get(0).and_then(Value::as_str) {
        return format!("such as \"{example}\"");
    }
    match &schema["type"] {
        Value::String(name) if name == "object" => {
            let keys = schema["properties"].as_object().into_iter().flat_map(|map| map.keys());
            format!("{{ {} }}", keys.map(String::as_str).collect::<Vec<_>>().join(", "))
        }
        Value::String(name) if name == "array" => {
            format!("list, each {}", type_of(root, resolve(root, &schema["items"])))
        }
        Value::String(name) => name.clone(),
        Value::Array(names) => names
            .iter()
            .filter_map(Value::as_str)
            .filter(|name| *name != "null")
            .collect::<Vec<_>>()
            .join(" | "),
        _ => String::new(),
    }
}
