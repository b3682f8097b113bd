//! OpenTelemetry: spans of the semantic conventions for generative AI.
//!
//! Spans stand in OTLP's JSON (requests with `resourceSpans`), or one object each as SDKs print them. They are written when they end,
//! not in the order in which they began, so that all are read before the first is told.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::CallResult;
use crate::format::{Format, Probe, Reader, as_it_is};
use crate::log::Log;
use crate::text::{arguments, content, parse, result};

pub const FORMAT: Format = Format {
    name: "opentelemetry",
    title: "OpenTelemetry: GenAI spans, as OTLP JSON or one object a span",
    signs: "an object with resourceSpans, or with a name, attributes and a start time",
    recognises,
    identify: None,
    repeats_calls: false,
    steady: as_it_is,
    reader: || Box::<OpenTelemetry>::default(),
};

fn recognises(object: &Probe<'_>) -> bool {
    object.is_array("resourceSpans")
        || (object.has(&["name", "attributes"])
            && (object.has(&["start_time"]) || object.has(&["startTimeUnixNano"]) || object.has(&["startTime"])))
}

#[derive(Default)]
struct OpenTelemetry {
    /// What the spans tell, with its time in nanoseconds since 1970 or whatever order texts have.
    moments: Vec<Moment>,
}

struct Moment {
    time: String,
    session: String,
    agent: String,
    what: What,
}

enum What {
    /// The model was asked: a step.
    Request,
    Call {
        id: String,
        tool: String,
        arguments: String,
    },
    Result {
        id: String,
        result: CallResult,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    #[serde(borrow)]
    resource_spans: Option<Vec<ResourceSpans<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResourceSpans<'a> {
    #[serde(borrow, default, alias = "instrumentationLibrarySpans")]
    scope_spans: Vec<ScopeSpans<'a>>,
}

#[derive(Deserialize)]
struct ScopeSpans<'a> {
    #[serde(borrow, default)]
    spans: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct Span<'a> {
    #[serde(borrow, alias = "trace_id", rename = "traceId")]
    trace_id: Option<Cow<'a, str>>,
    #[serde(borrow, alias = "span_id", rename = "spanId")]
    span_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    context: Option<Context<'a>>,
    #[serde(borrow, alias = "startTimeUnixNano", alias = "startTime")]
    start_time: Option<&'a RawValue>,
    #[serde(borrow, alias = "endTimeUnixNano", alias = "endTime")]
    end_time: Option<&'a RawValue>,
    #[serde(borrow)]
    attributes: Option<&'a RawValue>,
    #[serde(borrow)]
    status: Option<Status<'a>>,
}

#[derive(Deserialize, Default)]
struct Context<'a> {
    #[serde(borrow, alias = "traceId")]
    trace_id: Option<Cow<'a, str>>,
    #[serde(borrow, alias = "spanId")]
    span_id: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Status<'a> {
    #[serde(borrow, alias = "status_code")]
    code: Option<&'a RawValue>,
}

impl Reader for OpenTelemetry {
    fn read(&mut self, piece: &str, _array: usize, log: &mut Log<'_>) -> Result<(), String> {
        let Request { resource_spans } = parse(piece)?;
        let Some(resources) = resource_spans else { return self.span(piece) };
        for json in resources.iter().flat_map(|resource| &resource.scope_spans).flat_map(|scope| &scope.spans) {
            if let Err(reason) = self.span(json.get()) {
                log.skip(json.get(), format!("span: {reason}"));
            }
        }
        Ok(())
    }

    fn end(&mut self, log: &mut Log<'_>) {
        // Stable: what happens at one time stays in the order of the file, and a call before its result.
        self.moments.sort_by(|one, other| one.time.cmp(&other.time));
        for Moment { session, agent, what, .. } in self.moments.drain(..) {
            let agent = log.agent(&session, &agent);
            match what {
                What::Request => agent.next_step(),
                What::Call { id, tool, arguments } => agent.call(id, tool, arguments),
                What::Result { id, result } => agent.result(id, result),
            }
        }
    }
}

impl OpenTelemetry {
    fn span(&mut self, json: &str) -> Result<(), String> {
        let span: Span<'_> = parse(json)?;
        let attributes = attributes(span.attributes)?;
        let text = |name: &str| attributes.get(name).cloned();
        let context = span.context.unwrap_or_default();
        let trace = span.trace_id.or(context.trace_id).unwrap_or_default();
        let session = text("gen_ai.conversation.id").unwrap_or_else(|| trace.into_owned());
        let agent = text("gen_ai.agent.id").unwrap_or_else(|| session.clone());
        let mut moment = |time: Option<&RawValue>, what: What| {
            self.moments.push(Moment { time: time_key(time), session: session.clone(), agent: agent.clone(), what });
        };
        match text("gen_ai.operation.name").as_deref() {
            Some("chat" | "generate_content" | "text_completion") => moment(span.start_time, What::Request),
            Some("execute_tool") => {
                let tool = text("gen_ai.tool.name").ok_or("execute_tool without gen_ai.tool.name")?;
                let span_id = span.span_id.or(context.span_id).map(Cow::into_owned);
                let id = text("gen_ai.tool.call.id").or(span_id).unwrap_or_default();
                let arguments = text("gen_ai.tool.call.arguments").unwrap_or_default();
                moment(span.start_time, What::Call { id: id.clone(), tool, arguments });
                if span.end_time.is_some() {
                    let failed =
                        span.status.is_some_and(|status| status.is_error()) || attributes.contains_key("error.type");
                    let result = result(failed, text("gen_ai.tool.call.result").unwrap_or_default());
                    moment(span.end_time, What::Result { id, result });
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl Status<'_> {
    fn is_error(&self) -> bool {
        matches!(self.code.map(RawValue::get), Some("2" | "\"ERROR\"" | "\"STATUS_CODE_ERROR\"" | "\"Error\""))
    }
}

/// Times are whole numbers, or texts that sort as they follow one another.
fn time_key(time: Option<&RawValue>) -> String {
    let time = content(time);
    // Digits alone sort by their number once they are equally many.
    if time.bytes().all(|byte| byte.is_ascii_digit()) { format!("{time:0>24}") } else { time }
}

/// The attributes, as OTLP lists them or as an object has them; each as a text.
fn attributes(json: Option<&RawValue>) -> Result<BTreeMap<String, String>, String> {
    #[derive(Deserialize)]
    struct Attribute<'a> {
        key: String,
        #[serde(borrow)]
        value: Option<&'a RawValue>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct AnyValue<'a> {
        #[serde(borrow)]
        string_value: Option<&'a RawValue>,
        #[serde(borrow)]
        kvlist_value: Option<KeyValues<'a>>,
    }
    #[derive(Deserialize)]
    struct KeyValues<'a> {
        #[serde(borrow)]
        values: &'a RawValue,
    }
    let Some(json) = json else { return Ok(BTreeMap::new()) };
    if !json.get().starts_with('[') {
        let members: BTreeMap<String, &RawValue> = parse(json.get())?;
        return Ok(members.into_iter().map(|(key, value)| (key, arguments(Some(value)))).collect());
    }
    let listed: Vec<Attribute<'_>> = parse(json.get())?;
    let texts = listed.into_iter().map(|Attribute { key, value }| {
        let value = value.and_then(|value| parse::<AnyValue<'_>>(value.get()).ok().map(|parsed| (value, parsed)));
        let text = match value {
            Some((_, AnyValue { string_value: Some(text), .. })) => content(Some(text)),
            // Arguments and results may be structured.
            Some((_, AnyValue { kvlist_value: Some(KeyValues { values }), .. })) => values.get().to_owned(),
            Some((value, _)) => value.get().to_owned(),
            None => String::new(),
        };
        (key, text)
    });
    Ok(texts.collect())
}
