package notifications

import (
	"fmt"
	"slices"
	"strings"

	"ledge/domain"
	"ledge/domain/spelling"
)

// Of so many categories of a subscription it is looked up whether a notification has them, and so many of the newest notifications are
// looked at for one that is meant.
const (
	mostNoted    = 16
	recentLooked = 100
)

// categoryNote names the categories that no notification has yet, and for each the one that may be meant. A subscription with such a
// category is right, and may wait for ever.
func (s service) categoryNote(categories []string) string {
	view, done := s.notifications()
	defer done()
	var notes, used []string
	for _, c := range categories[:min(len(categories), mostNoted)] {
		if c == domain.DeviceChanged {
			continue
		}
		_, total, err := view.Lists.Keys(domain.ListNotifications, domain.Page{}, domain.Filter{Index: domain.IndexCategory, Value: c})
		if err != nil || total > 0 {
			continue
		}
		if used == nil {
			used = usedCategories(view)
		}
		note := fmt.Sprintf("no notification has the category %q yet", c)
		if meant := spelling.Nearest(c, used); meant != "" {
			note += fmt.Sprintf("; did you mean %s?", meant)
		}
		notes = append(notes, note)
	}
	return strings.Join(notes, "; ")
}

// usedCategories are those of Ledge's own notifications and of the newest ones.
func usedCategories(view domain.View) []string {
	used := []string{domain.DeviceChanged}
	list, _, err := view.Lists.Notifications(domain.Page{Limit: recentLooked})
	if err != nil {
		return used
	}
	for _, n := range list {
		if n.Category != "" && !slices.Contains(used, n.Category) {
			used = append(used, n.Category)
		}
	}
	return used
}
