//! JSON over HTTP.

use std::time::Duration;

use serde_json::Value;
use ureq::http::Response;
use ureq::{Agent, Body};

use crate::{Result, failed, usage};

/// What can be done where the way to the server is lost amid an export.
const AGAIN: &str = "the same export again goes on where it stopped";
/// The same where nothing was sent yet.
const THERE: &str = "is Qdrant there, and does it listen? `url` is its address";

/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_mins(2);
/// Longest wait for a server that is not there.
const KNOCK: Duration = Duration::from_secs(15);

/// A server that speaks JSON.
pub(super) struct Server {
    agent: Agent,
    place: String,
    key: Option<String>,
}

impl Server {
    /// The server at an address, to which a key may belong.
    ///
    /// Fails for an address that is none, has a password in it, or asks for TLS.
    pub(super) fn at(url: &str, key: Option<&str>) -> Result<Self> {
        let form = "http://HOST:6333";
        let Some((scheme, rest)) = url.split_once("://") else {
            return Err(usage(format!("the address of a Qdrant is {form}")));
        };
        if scheme == "https" {
            return Err(usage(format!(
                "this build speaks no TLS; connect by a tunnel, at {form}"
            )));
        }
        if scheme != "http" || rest.is_empty() || rest.contains(['@', '?', '#', ' ']) {
            return Err(usage(format!(
                "the address of a Qdrant is {form}, without a name or a key in it"
            )));
        }
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_connect(Some(KNOCK))
            .timeout_global(Some(PATIENCE))
            .build();
        Ok(Self {
            agent: agent.into(),
            place: url.trim_end_matches('/').to_owned(),
            key: key.map(str::to_owned),
        })
    }

    /// What is said of a server whose answers are not those of Qdrant.
    pub(super) fn strange(&self) -> likewise::Error {
        failed(format!("{}: does not answer as Qdrant does", self.place))
    }

    /// The address.
    pub(super) fn place(&self) -> &str {
        &self.place
    }

    /// What is at a path; none where nothing is. It is what is asked first.
    pub(super) fn get(&self, path: &str) -> Result<Option<Value>> {
        let mut request = self.agent.get(self.url(path));
        if let Some(key) = &self.key {
            request = request.header("api-key", key);
        }
        let answer = request.call();
        if answer
            .as_ref()
            .is_ok_and(|answer| answer.status().as_u16() == 404)
        {
            return Ok(None);
        }
        self.read(answer, THERE).map(Some)
    }

    pub(super) fn delete(&self, path: &str) -> Result<()> {
        let mut request = self.agent.delete(self.url(path));
        if let Some(key) = &self.key {
            request = request.header("api-key", key);
        }
        self.read(request.call(), AGAIN).map(drop)
    }

    pub(super) fn put(&self, path: &str, value: &Value) -> Result<()> {
        let request = self.agent.put(self.url(path));
        self.send(request, value).map(drop)
    }

    pub(super) fn post(&self, path: &str, value: &Value) -> Result<Value> {
        let request = self.agent.post(self.url(path));
        self.send(request, value)
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.place)
    }

    fn send(
        &self,
        mut request: ureq::RequestBuilder<ureq::typestate::WithBody>,
        value: &Value,
    ) -> Result<Value> {
        if let Some(key) = &self.key {
            request = request.header("api-key", key);
        }
        let request = request.header("content-type", "application/json");
        self.read(request.send(value.to_string()), AGAIN)
    }

    /// The JSON of an answer; `lost` is what can be done where there is none.
    fn read(
        &self,
        answer: std::result::Result<Response<Body>, ureq::Error>,
        lost: &str,
    ) -> Result<Value> {
        let place = &self.place;
        let failure = |e: ureq::Error| match e {
            ureq::Error::Io(e) => failed(format!("{place}: {e}; {lost}")),
            e => failed(format!("{place}: {e}; {lost}")),
        };
        let mut answer = answer.map_err(failure)?;
        let status = answer.status();
        let text = answer.body_mut().read_to_string().map_err(failure)?;
        let value: Option<Value> = serde_json::from_str(&text).ok();
        if status.is_success() {
            return value.ok_or_else(|| self.strange());
        }
        let said = value
            .as_ref()
            .and_then(|value| value["status"]["error"].as_str());
        let said = said.map_or_else(String::new, |said| format!(": {said}"));
        let advice = match status.as_u16() {
            401 | 403 => "give its key",
            500.. => AGAIN,
            _ => return Err(failed(format!("{place} answers {status}{said}"))),
        };
        Err(failed(format!("{place} answers {status}{said}; {advice}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_plain_http_without_a_key_in_it() {
        Server::at("http://localhost:6333/", None).unwrap();
        for bad in [
            "localhost:6333",
            "http://me:s3cret@host",
            "ftp://host",
            "http://",
        ] {
            let said = Server::at(bad, None).map(|_| ()).unwrap_err().to_string();
            assert!(
                said.contains("http://HOST:6333") && !said.contains("s3cret"),
                "{said}"
            );
        }
        let said = Server::at("https://host", None).map(|_| ()).unwrap_err();
        assert!(said.to_string().contains("no TLS"), "{said}");
    }
}
