package web

import (
	"math"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
)

// Period is the time that a search is about, as entered, with what is wrong.
type Period struct {
	From, To, FromWrong, ToWrong string
	First, Last                  time.Time
}

// PeriodOf reads the period from the parameters from and to of a query.
func PeriodOf(c *gin.Context) (p Period) {
	p = Period{From: FilterText(c, "from"), To: FilterText(c, "to"), First: time.Unix(0, 0), Last: time.Unix(0, math.MaxInt64)}
	if p.From != "" {
		p.First, _, p.FromWrong = ReadTime(p.From)
	}
	if p.To != "" {
		_, p.Last, p.ToWrong = ReadTime(p.To)
	}
	if p.Status() == http.StatusOK && p.Last.Before(p.First) {
		p.ToWrong = "The end is before the start."
	}
	return p
}

// Given reports whether the query has a period.
func (p Period) Given() bool { return p.From+p.To != "" }

// Status is the status of the page: an error if an end of the period is not a time, or the end is before the start.
func (p Period) Status() int {
	if p.FromWrong+p.ToWrong != "" {
		return http.StatusUnprocessableEntity
	}
	return http.StatusOK
}

// ReadTime returns the first and the last instant of the minute, second or day that a text names, in UTC, or what is wrong.
func ReadTime(text string) (first, last time.Time, wrong string) {
	for layout, span := range map[string]time.Duration{
		"2006-01-02T15:04": time.Minute, time.DateOnly + "T" + time.TimeOnly: time.Second, time.RFC3339: 1, time.DateOnly: 24 * time.Hour,
	} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, t.Add(span - 1), ""
		}
	}
	return first, last, "Write the time as 2006-01-02T15:04, in UTC."
}
