// Package limits is the page on which administrators set the limits of retention.
package limits

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/console/web"
)

// Source has the limits. Errors are domain Errors that name the settings.
type Source interface {
	Limits() []Limit
	// Preview returns a line for each limit that would remove something now, if settings had other values.
	Preview(ctx context.Context, values map[string]string) ([]string, error)
	// Set records the values as a change by actor, and puts them in force. An empty value stands for the value of the configuration.
	Set(ctx context.Context, actor string, values map[string]string) error
}

// Limit is a setting of retention.
type Limit struct {
	Name       string
	Set        string // the value that an administrator has set; "" for none
	Configured string // the value of the configuration
	About      string
}

// Pages is the page.
type Pages struct {
	*web.Site
	Source Source
}

// Routes returns the page and its form.
func (s Pages) Routes() []web.Route {
	return []web.Route{
		web.Get("/system/retention", domain.MayAdminister, s.show),
		web.Post("/system/retention", domain.MayAdminister, s.change),
	}
}

type data struct {
	*web.Form
	Previewed bool
	Going     []string
	Seen      string // the limits of the preview
	Differs   bool   // the limits are not the ones of the last preview
}

func (s Pages) show(c *gin.Context) error {
	f := &web.Form{Texts: map[string]string{}}
	for _, one := range s.Source.Limits() {
		f.Texts[one.Name] = one.Set
	}
	return s.showForm(c, http.StatusOK, "", data{Form: f})
}

func (s Pages) showForm(c *gin.Context, status int, message string, d data) error {
	for _, one := range s.Source.Limits() {
		configured := one.Configured
		if configured == "" || configured == "0" || configured == "0s" {
			configured = "none"
		}
		d.Fields = append(d.Fields, web.Field{
			Name: one.Name, Label: one.Name, Type: "text", Value: d.Texts[one.Name], Error: d.Problems.Of(one.Name, one.Name),
			Hint: web.Sentence(one.About) + " Leave empty for the value of the configuration: " + configured + ".",
		})
	}
	return s.Show(c, status, "retention", web.Page{Title: "Retention", Message: message, Data: d})
}

// encodeTexts returns the texts as one text.
func encodeTexts(texts map[string]string) string {
	text, _ := json.Marshal(texts) // texts always encode
	return string(text)
}

func (s Pages) change(c *gin.Context) error {
	d := data{Form: &web.Form{Texts: map[string]string{}}}
	var labels web.Labels
	for _, one := range s.Source.Limits() {
		d.Texts[one.Name] = strings.TrimSpace(c.PostForm(one.Name))
		labels = append(labels, web.Label{Path: one.Name, Text: one.Name})
	}
	var err error
	d.Seen = encodeTexts(d.Texts)
	apply := c.PostForm("action") == "apply"
	if apply && c.PostForm("previewed") != d.Seen {
		apply, d.Differs = false, true // the user has not seen their preview
	}
	if apply {
		err = s.Source.Set(c.Request.Context(), web.ActorOf(c), d.Texts)
	} else {
		d.Going, err = s.Source.Preview(c.Request.Context(), d.Texts)
	}
	if err != nil {
		return s.Refuse(c, err, func(message string) error {
			a := web.Answer{Message: message, Problems: web.ProblemsOf(err)}
			return s.showForm(c, http.StatusUnprocessableEntity, d.Refuse(a, labels), d)
		})
	}
	if apply {
		return s.Done(c, "/system/retention", "The limits are set. The next sweep, in 10 seconds at most, applies them.")
	}
	d.Previewed = true
	return s.showForm(c, http.StatusOK, "", d)
}
