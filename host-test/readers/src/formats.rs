//! One module a format.

pub mod atif;
pub mod chat;
pub mod claude_code;
pub mod codex;
pub mod dsh;
pub mod gemini_cli;
pub mod mini_swe_agent;
pub mod opencode;
pub mod openhands;
pub mod opentelemetry;
pub mod pi;
pub mod swe_agent;
pub mod tau_bench;
pub mod trae;
