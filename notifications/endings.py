"""Nothing of notifications works for a person: inactive people are told nothing."""

from accounts.people.leaving import stays_after_person

stays_after_person("nothing is sent to an inactive account", "notifications.Notification.recipient")
