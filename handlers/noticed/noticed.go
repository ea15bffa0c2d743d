// Package noticed knows which categories and labels notifications have had, and which notifications are only tests.
package noticed

import (
	"slices"
	"strings"

	"ledge/domain"
	"ledge/domain/spelling"
	"ledge/handlers/answers"
)

const (
	// mostNoted is how many categories of a subscription are looked up, and as many labels.
	mostNoted = 16
	// recentLooked is how many of the newest notifications are searched for the category that is meant.
	recentLooked = 100
	// testsLooked is how many notifications with a category are read to see whether all of them are tests.
	testsLooked = 20
)

// Sender and Description of a test that the console sends. Its category may be one that no other notification has.
const (
	TestSender      = "console"
	TestDescription = "Test of the subscription "
)

// Tested returns the name of the subscription that a notification tests; "" if it is not a test from the console.
func Tested(n domain.Notification) string {
	name, isTest := strings.CutPrefix(n.Description, TestDescription)
	if !isTest || n.Sender != TestSender {
		return ""
	}
	return name
}

// IsTest reports whether a notification is a test from the console.
func IsTest(n domain.Notification) bool { return Tested(n) != "" }

// Unseen is a category or a label of a subscription that no notification has had; Meant is the one that may be meant, if there is one.
type Unseen struct{ Value, Meant string }

// UnseenCategories returns those that no notification has had, tests aside, and the categories of the newest notifications. A subscription
// with such a category is right, and may wait for ever.
func UnseenCategories(view domain.View, categories []string) (unseen []Unseen, seen []string) {
	of := func(n domain.Notification) []string { return []string{n.Category} }
	return unseenOf(view, domain.IndexCategory, categories, []string{domain.DeviceChanged}, of)
}

// UnseenLabels is UnseenCategories for labels.
func UnseenLabels(view domain.View, labels []string) (unseen []Unseen, seen []string) {
	of := func(n domain.Notification) []string { return n.Labels }
	return unseenOf(view, domain.IndexLabel, labels, []string{domain.DeviceChangedLabel}, of)
}

// tagsOf returns the categories or the labels of a notification.
type tagsOf func(domain.Notification) []string

// unseenOf looks values up in an index. own are those of Ledge's own notifications.
func unseenOf(view domain.View, index string, values, own []string, of tagsOf) (unseen []Unseen, seen []string) {
	for _, v := range values[:min(len(values), mostNoted)] {
		if slices.Contains(own, v) || !onlyTests(view, domain.Filter{Index: index, Value: v}) {
			continue
		}
		if seen == nil {
			seen = recentTags(view, own, of)
		}
		unseen = append(unseen, Unseen{v, spelling.Nearest(v, seen)})
	}
	return unseen, seen
}

// onlyTests reports whether there is no notification but tests.
func onlyTests(view domain.View, filter domain.Filter) bool {
	_, total, err := view.Lists.Keys(domain.ListNotifications, domain.Page{}, filter)
	if err != nil || total > testsLooked {
		return false
	}
	list := notLarge(view, total, filter)
	return len(list) == total && !slices.ContainsFunc(list, func(n domain.Notification) bool { return !IsTest(n) })
}

// notLarge returns those of the newest notifications that take no more than [answers.LargeBytes], as tests do.
func notLarge(view domain.View, limit int, filters ...domain.Filter) (list []domain.Notification) {
	ids, _, _ := view.Lists.Keys(domain.ListNotifications, domain.Page{Limit: limit}, filters...) // after an error there are none
	for _, id := range ids {
		var n domain.Notification
		if domain.GetWithin(view.State.Notifications, id, answers.LargeBytes, &n).OK {
			list = append(list, n)
		}
	}
	return list
}

// recentTags are those of the newest notifications, tests aside.
func recentTags(view domain.View, own []string, of tagsOf) []string {
	seen := slices.Clone(own)
	for _, n := range notLarge(view, recentLooked) {
		for _, tag := range of(n) {
			if tag != "" && !IsTest(n) && !slices.Contains(seen, tag) {
				seen = append(seen, tag)
			}
		}
	}
	return seen
}
