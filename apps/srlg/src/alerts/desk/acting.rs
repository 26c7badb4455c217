//! What people do with alerts, as notices.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

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
        let open = self.open.get(id).map(|open| Notice {
            duration_ms: now_ms.saturating_sub(open.start_ms),
            ..Notice::clone(open)
        });
        let is_over = open.is_none();
        let last = open.or(ended).ok_or_else(|| Refusal::Unknown(id.to_string()))?;
        let last = Notice { now_ms, ..last };
        let notice = match act {
            Act::Acknowledge { .. } | Act::Close { .. } if is_over => return Err(Refusal::Over),
            Act::Acknowledge { .. } => Notice {
                acknowledged: Some(remark.clone()),
                ..last.with_remark(act.why(), "acknowledged", remark)
            },
            Act::Comment { .. } => last.with_remark(act.why(), "comment", remark),
            Act::Silence { length, .. } => {
                let until_ms = now_ms.saturating_add(length.as_millis() as u64);
                let silencing = Silencing { remark: remark.clone(), until_ms, id: *id };
                self.silences.add(&last, silencing)?;
                let silence = self.silences.of(&last).cloned();
                let end = UNIX_EPOCH + Duration::from_millis(until_ms);
                let what = format!("silenced until {}", format_rfc3339_seconds(end));
                Notice { silence, ..last.with_remark(act.why(), &what, remark) }
            }
            Act::Unsilence { .. } => {
                self.silences.remove(&last)?;
                Notice { silence: None, ..last.with_remark(act.why(), "silence ended", remark) }
            }
            Act::Close { .. } => self.close_by_hand(&last, remark)?,
        };
        if !is_over {
            self.note(&notice);
        }
        Ok(notice)
    }

    /// Ends the alert of `last`, because of `remark`.
    fn close_by_hand(&mut self, last: &Notice, remark: Remark) -> Result<Notice, Refusal> {
        let view = self.books.iter().position(|book| book.name == last.view);
        let view = view.ok_or_else(|| Refusal::Unknown(last.id.to_string()))?;
        let change = self.books[view].close_by_hand(last.id, last.now_ms)?;
        let ended = self.notice(view, change);
        let text = format!("{}; {}", ended.text, remark.sentence("closed"));
        Ok(Notice { text, remark: Some(remark), sampling: last.sampling.clone(), ..ended })
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
