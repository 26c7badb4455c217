//! What people do with alerts, as notices.

use std::sync::Arc;

use humantime::format_rfc3339_seconds;

use crate::alerts::AlertId;
use crate::alerts::act::{Act, Refusal, Remark, Silencing};
use crate::alerts::desk::Desk;
use crate::notify::notice::Notice;

/// An act of a person on an alert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    /// Id of the alert.
    pub(crate) id: AlertId,
    /// What to do.
    pub(crate) act: Act,
    /// Name of the person.
    pub(crate) by: String,
}

impl Desk {
    /// Returns whether the alert `id` goes on.
    #[must_use]
    pub(crate) fn is_open(&self, id: AlertId) -> bool {
        self.open.contains_key(&id)
    }

    /// Does what `order` says at `now_ms`, and returns the notice of it. If the alert is over, `ended` is its last notice.
    pub(crate) fn act(
        &mut self,
        order: &Order,
        ended: Option<Notice>,
        now_ms: u64,
    ) -> Result<Notice, Refusal> {
        let Order { id, act, by } = order;
        act.check()?;
        let remark = Remark { by: by.clone(), at_ms: now_ms, text: act.text() };
        let Some(open) = self.open.get(id).map(Arc::clone) else {
            let ended = ended.ok_or_else(|| Refusal::Unknown(id.to_string()))?;
            return match act {
                Act::Comment { .. } => {
                    let ended = Notice { now_ms, ..ended };
                    Ok(ended.with_remark(act.why(), "comment", remark))
                }
                _ => Err(Refusal::Over),
            };
        };
        // Its numbers are of the last notice, and so is the age of its data.
        let open =
            Notice { duration_ms: now_ms.saturating_sub(open.start_ms), now_ms, ..(*open).clone() };
        let notice = match act {
            Act::Acknowledge { .. } => Notice {
                acknowledged: Some(remark.clone()),
                ..open.with_remark(act.why(), "acknowledged", remark)
            },
            Act::Comment { .. } => open.with_remark(act.why(), "comment", remark),
            Act::Silence { length, .. } => {
                let until_ms = now_ms.saturating_add(length.as_millis() as u64);
                let silencing = Silencing { remark: remark.clone(), until_ms };
                self.silences.add(&open, silencing)?;
                let silence = self.silences.of(&open).cloned();
                let end = std::time::UNIX_EPOCH + std::time::Duration::from_millis(until_ms);
                let what = format!("silenced until {}", format_rfc3339_seconds(end));
                Notice { silence, ..open.with_remark(act.why(), &what, remark) }
            }
            Act::Unsilence { .. } => {
                self.silences.remove(&open)?;
                Notice { silence: None, ..open.with_remark(act.why(), "silence ended", remark) }
            }
            Act::Close { .. } => {
                let view = self.books.iter().position(|book| book.name == open.view);
                let view = view.ok_or_else(|| Refusal::Unknown(id.to_string()))?;
                let change = self.books[view].close_by_hand(*id, now_ms)?;
                let ended = self.notice(view, change);
                let text = format!("{}; {}", ended.text, remark.sentence("closed"));
                Notice { text, remark: Some(remark), sampling: open.sampling, ..ended }
            }
        };
        self.note(&notice);
        Ok(notice)
    }

    /// Ends silences that are over, and returns the notices of alerts that go on and were silenced.
    pub(super) fn end_silences(&mut self) -> Vec<Notice> {
        let now_ms = self.now_ms();
        self.silences.end_at(now_ms);
        let goes_on =
            |notice: &&Arc<Notice>| notice.silence.is_some() && self.silences.of(notice).is_none();
        let notices = self.open.values().filter(goes_on);
        notices.map(|notice| notice.after_silence(now_ms)).collect()
    }
}
