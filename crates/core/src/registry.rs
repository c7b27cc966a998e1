//! Components by name.
//!
//! A folder of exchangeable components (congestion controls, channels, ...) holds a file for each and registers it with
//! one line of [`registry!`]. That line makes the component's name a tag in scenarios (`[tcp.cc.reno]`; the bare name,
//! `cc = "reno"`, selects it with default keys: see `scenario/choice`), and lists it in the schema and in `airpath
//! list`.
//!
//! A component's module offers a documented `Config` with defaults ([`parameters!`]), and implements the folder's
//! `Component` for it: a trait with `build` and with the properties that the rest of the core reads from a component's
//! parameters before it is built. Nearly all methods have a default, so a new component overrides only what is special
//! about it. The folder's `Config` dereferences to `dyn Component`, so a method called on a scenario's choice reaches
//! the chosen component. `default` names the component of a scenario that chooses none; with `validate(..)` the
//! folder's `Config` puts the component's name before the keys of errors.
//!
//! ```text
//! registry! {
//!     /// A queue discipline and its parameters.
//!     pub enum Config: Component, default Droptail, validate() {
//!         Droptail = droptail,
//!         Red = red,
//!     }
//! }
//! ```

#[cfg(test)]
pub(crate) mod tests;

/// Declares the components of a folder; see the module documentation.
macro_rules! registry {
    (
        $(#[$meta:meta])*
        pub enum Config: $component:ident $(, default $default:ident)? $(, validate($($arg:ident: $arg_ty:ty),*))? {
            $($(#[$only:meta])* $variant:ident = $module:ident,)*
        }
    ) => {
        $(
            impl Config {
                /// Like the component's own, with its name before the key.
                ///
                /// # Errors
                #[doc = concat!("See [`", stringify!($component), "::validate`].")]
                pub fn validate(&self, $($arg: $arg_ty),*) -> Result<(), $crate::error::ScenarioError> {
                    (**self).validate($($arg),*).map_err(|error| error.under(self.name()))
                }
            }
        )?

        $(
            impl Default for Config {
                fn default() -> Self {
                    Self::$default(Default::default())
                }
            }
        )?

        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "snake_case")]
        #[schemars(transform = $crate::registry::or_bare_name)]
        // A scenario holds a few of them, and the largest one sets no pace.
        #[allow(clippy::large_enum_variant)]
        pub enum Config {
            $(
                $(#[$only])*
                #[doc = concat!("See `", stringify!($module), "`.")]
                $variant($module::Config),
            )*
        }

        impl Config {
            /// Names of everything registered here, as written in a scenario.
            pub const NAMES: &'static [&'static str] = &[$($(#[$only])* stringify!($module),)*];

            /// The name of this component.
            pub const fn name(&self) -> &'static str {
                match self { $($(#[$only])* Self::$variant(_) => stringify!($module),)* }
            }

            /// Every component with its default configuration.
            pub fn defaults() -> Vec<Self> {
                [$($(#[$only])* Self::$variant($module::Config::default()),)*].into()
            }
        }

        impl std::ops::Deref for Config {
            type Target = dyn $component;

            fn deref(&self) -> &Self::Target {
                match self { $($(#[$only])* Self::$variant(config) => config,)* }
            }
        }
    };
}
pub(crate) use registry;

/// Declares scenario parameters: choices by name, and structs whose fields may be followed by a default that differs
/// from their type's own.
macro_rules! parameters {
    () => {};
    (@default) => { Default::default() };
    (@default $default:expr) => { $default };
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $($(#[$field_meta:meta])* pub $field:ident: $type:ty $(= $default:expr)?,)*
        }
        $($others:tt)*
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name {
            $($(#[$field_meta])* pub $field: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $crate::registry::parameters!(@default $($default)?),)* }
            }
        }

        $crate::registry::parameters! { $($others)* }
    };
    ($(#[$meta:meta])* pub enum $name:ident { $($variants:tt)* } $($others:tt)*) => {
        $(#[$meta])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema
        )]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($variants)* }

        $crate::registry::parameters! { $($others)* }
    };
}
pub(crate) use parameters;

/// Extends the schema of a folder's components: the bare name of a component is allowed too.
pub(crate) fn or_bare_name(schema: &mut schemars::Schema) {
    let Some(serde_json::Value::Array(variants)) = schema.get_mut("oneOf") else { return };
    let names = variants.iter().filter_map(|variant| variant["required"][0].as_str());
    let names: Vec<_> = names.map(|name| serde_json::Value::from(name.to_owned())).collect();
    let description = "The component with its defaults.";
    variants.push(serde_json::json!({ "type": "string", "enum": names, "description": description }));
}
