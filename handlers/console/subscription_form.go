package console

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/console/web"
	"ledge/handlers/entities"
	"ledge/handlers/noticed"
)

// channelKinds are the kinds of channels in the order of the form: sockets of Ledge first, kinds without a host last.
var channelKinds = slices.SortedStableFunc(slices.Values(domain.ChannelKinds()), func(a, b domain.ChannelKind) int {
	rank := func(k domain.ChannelKind) int {
		switch _, hasHost := k.Field("host"); {
		case k.Binds:
			return 0
		case hasHost:
			return 1
		}
		return 2
	}
	return cmp.Compare(rank(a), rank(b))
})

// subscriptionForms are the forms of subscriptions.
type subscriptionForms struct {
	tags
	network Network
}

func (s subscriptionForms) Routes() []web.Route {
	return []web.Route{
		web.Get("/subscriptions/+add", domain.MayChange, s.showAddSubscription),
		web.Post("/subscriptions/+add", domain.MayChange, s.addSubscription),
		web.Get("/subscriptions/:name/edit", domain.MayChange, s.showEditSubscription),
		web.Post("/subscriptions/:name/edit", domain.MayChange, s.editSubscription),
	}
}

// channelForm is one channel as the user has entered it.
type channelForm struct {
	domain.ChannelKind
	Index int
	Texts map[string]string // of the inputs, by the JSON names of their fields
	// Kept are the texts that the user has entered for other kinds, by the type of the kind. They return with that kind.
	Kept map[string]map[string]string
	// Chosen says that the user has just added the channel, or changed its kind.
	Chosen bool
	// Inputs are always shown, and Advanced on demand. Hidden are the inputs with the texts of other kinds.
	Inputs, Advanced, Hidden []web.Field
	AdvancedOpen             bool   // an input that is shown on demand has an error
	Number                   int    // the position of the channel for people, from 1
	TypeInput, PortInput     string // the names of these inputs
}

// inputName returns the name of the input of a field.
func (f channelForm) inputName(name string) string {
	return fmt.Sprintf("channels[%d].%s", f.Index, name)
}

func (f channelForm) keptInput(kind domain.ChannelKind, field domain.ChannelField) string {
	return f.inputName(kind.Type + "." + field.Name)
}

var subscriptionInputs = web.Inputs[domain.Subscription]{
	{Field: nameInput, New: true},
	{Field: web.Field{Name: "receiver", Label: "Receiver", Required: true,
		Hint: "The name of a person or a group, such as night-shift. " + nameHint}},
	{Field: descriptionInput, Exact: true},
	{Field: web.Field{Name: "categories", Label: "Categories", Value: domain.DeviceChanged,
		Hint: "Separate categories by commas. DEVICE_CHANGED stands for changes of devices."}, Exact: true},
	{Field: tagsInput, Exact: true},
	{Field: stateInput},
	{Field: web.Field{Name: "resendLimit", Label: "Maximum retries", Type: "number", More: true,
		Hint: "Retries after a failed attempt. Leave empty for the setting of the server."}},
	{Field: web.Field{Name: "resendInterval", Label: "Time between retries", More: true,
		Hint: "Such as 5s or 2m. Leave empty for the setting of the server."}, Optional: true},
}

// tagsInput is the input for labels if an entity may have a category in their place.
var tagsInput = web.Field{Name: "labels", Label: "Labels", Hint: "Separate labels by commas. Give a category or a label."}

// subscriptionForm is a subscription as the user has entered it.
type subscriptionForm struct {
	*web.Form
	Channels []channelForm
	Kinds    []domain.ChannelKind // that can be added
}

func (s subscriptionForms) showAddSubscription(c *gin.Context) error {
	kind, ok := domain.ChannelKindOf(c.Query("kind"))
	if !ok {
		kind = channelKinds[0]
	}
	f := subscriptionForm{Form: subscriptionInputs.Blank()}
	f.add(s.network.newChannel(kind))
	return s.showSubscriptionForm(c, http.StatusOK, "", f)
}

func (f *subscriptionForm) add(ch channelForm) {
	ch.Index = len(f.Channels)
	f.Channels = append(f.Channels, ch)
}

// readSubscriptionForm reads what the user has entered, and adds or removes a channel if its button was pressed.
func (s subscriptionForms) readSubscriptionForm(c *gin.Context) (f subscriptionForm, again bool) {
	f = subscriptionForm{Form: subscriptionInputs.Read(c, c.Param("name"))}
	for i := range domain.MaxChannels {
		text := c.PostForm(channelForm{Index: i}.inputName("type"))
		if text == "" {
			break
		}
		kind, _ := domain.ChannelKindOf(text)
		kind.Type = text // the service refuses an unknown one
		if c.PostForm("remove") != strconv.Itoa(i) {
			f.add(readChannel(c, i, kind))
		}
	}
	if kind, ok := domain.ChannelKindOf(c.PostForm("more")); ok && len(f.Channels) < domain.MaxChannels {
		added := s.network.newChannel(kind)
		added.Chosen = true
		f.add(added)
	}
	s.chooseKind(&f, c.PostForm("kind"))
	return f, c.PostForm("more")+c.PostForm("remove")+c.PostForm("check")+c.PostForm("kind") != ""
}

func readChannel(c *gin.Context, i int, kind domain.ChannelKind) channelForm {
	f := channelForm{ChannelKind: kind, Index: i, Texts: map[string]string{}, Kept: map[string]map[string]string{}}
	for _, one := range kind.Fields {
		f.Texts[one.Name] = strings.TrimSpace(c.PostForm(f.inputName(one.Name)))
	}
	for _, other := range channelKinds {
		texts, sent := map[string]string{}, false
		for _, one := range other.Fields {
			text, ok := c.GetPostForm(f.keptInput(other, one))
			texts[one.Name], sent = text, sent || ok
		}
		if sent {
			f.Kept[other.Type] = texts
		}
	}
	return f
}

// chooseKind changes the kind of a channel. choice is the position of the channel from 0, a space, and the type, or "".
func (s subscriptionForms) chooseKind(f *subscriptionForm, choice string) {
	index, text, _ := strings.Cut(choice, " ")
	i, err := strconv.Atoi(index)
	kind, ok := domain.ChannelKindOf(text)
	if err != nil || i < 0 || i >= len(f.Channels) || !ok || kind.Type == f.Channels[i].Type {
		return
	}
	ch := &f.Channels[i]
	texts, ok := ch.Kept[kind.Type]
	if !ok {
		texts = s.network.newChannel(kind).Texts
	}
	ch.Kept[ch.Type] = ch.Texts
	delete(ch.Kept, kind.Type)
	ch.ChannelKind, ch.Texts, ch.Chosen = kind, texts, true
}

// channelFormOf returns the form of a channel of a known kind.
func channelFormOf(ch domain.Channel) channelForm {
	f := channelForm{Texts: map[string]string{}}
	f.ChannelKind, _ = ch.Kind()
	for _, one := range f.Fields {
		v := ch.Value(one.Name)
		if list, ok := v.([]string); ok {
			v = strings.Join(list, ", ")
		}
		if v != false { // a browser sends nothing for it
			f.Texts[one.Name] = fmt.Sprint(v)
		}
	}
	return f
}

// fields are those of the channel in the request. It notes a problem for each text that is not a number.
func (f channelForm) fields(p *web.Problems) map[string]any {
	fields := map[string]any{"type": f.Type}
	for _, one := range f.Fields {
		text := f.Texts[one.Name]
		switch (domain.Channel{}).Value(one.Name).(type) {
		case []string:
			fields[one.Name] = web.SplitLabels(text)
		case bool:
			fields[one.Name] = text != ""
		case int:
			n, err := strconv.Atoi(text)
			if fields[one.Name] = n; err != nil && text != "" {
				p.Add(f.inputName(one.Name), fmt.Sprintf("Write a whole number, such as 1883, in place of %.40q.", text))
			}
		default:
			fields[one.Name] = text
		}
	}
	return fields
}

// setInputs makes the inputs of the channel's fields.
func (f *channelForm) setInputs(n Network, p web.Problems) {
	f.Number, f.TypeInput, f.PortInput = f.Index+1, f.inputName("type"), f.inputName("port")
	for _, one := range f.Fields {
		name, text := f.inputName(one.Name), f.Texts[one.Name]
		input := web.Field{
			Name: name, Label: one.Label, Hint: one.Hint, Value: text, Required: one.Required, Error: p.Of(name, one.Label),
			Type: inputType(one),
		}
		input.Options = web.OptionsOf(one.Choices...)
		if input.Type == "select" && text != "" && !slices.Contains(one.Choices, text) {
			input.Options = append(input.Options, web.OptionsOf(text)...)
		}
		if f.Binds && one.Name == "host" {
			input.Options = n.bindHosts()
		}
		if f.Binds && one.Name == "port" {
			input.Hint = cmp.Or(n.portHint(f.Texts["host"], text), input.Hint)
		}
		if one.Advanced {
			f.Advanced = append(f.Advanced, input)
			f.AdvancedOpen = f.AdvancedOpen || input.Error != ""
		} else {
			f.Inputs = append(f.Inputs, input)
		}
	}
	for _, kind := range channelKinds {
		if texts, ok := f.Kept[kind.Type]; ok {
			for _, one := range kind.Fields {
				f.Hidden = append(f.Hidden, web.Field{Name: f.keptInput(kind, one), Value: texts[one.Name]})
			}
		}
	}
}

func inputType(f domain.ChannelField) string {
	switch v := (domain.Channel{}).Value(f.Name); {
	case f.Label == "":
		return "hidden"
	case len(f.Choices) > 0:
		return "select"
	case v == 0:
		return "number"
	case v == false:
		return "checkbox"
	}
	return "text"
}

// fields are those of the request.
func (f subscriptionForm) fields() map[string]any {
	channels := make([]map[string]any, len(f.Channels))
	for i, ch := range f.Channels {
		channels[i] = ch.fields(&f.Problems)
	}
	fields := subscriptionInputs.Values(f.Form, nil)
	fields["channels"] = channels
	return fields
}

// labels are the fields that the form shows. If there are several channels, the labels say which one has the field.
func (f subscriptionForm) labels() web.Labels {
	labels := subscriptionInputs.Labels()
	for _, ch := range f.Channels {
		for _, one := range ch.Fields {
			label := one.Label
			if label != "" && len(f.Channels) > 1 {
				label += fmt.Sprintf(" of channel %d", ch.Index+1)
			}
			if label != "" {
				labels = append(labels, web.Label{Path: ch.inputName(one.Name), Text: label})
			}
		}
	}
	return labels
}

func (s subscriptionForms) addSubscription(c *gin.Context) error {
	return s.saveSubscription(c, http.MethodPost, "added")
}

func (s subscriptionForms) editSubscription(c *gin.Context) error {
	return s.saveSubscription(c, http.MethodPatch, "changed")
}

func (s subscriptionForms) saveSubscription(c *gin.Context, method, what string) error {
	f, again := s.readSubscriptionForm(c)
	if again {
		return s.showSubscriptionForm(c, http.StatusOK, "", f)
	}
	fields := f.fields()
	if len(f.Problems) > 0 {
		return s.showSubscriptionForm(c, http.StatusUnprocessableEntity, f.RefuseProblems(f.labels()), f)
	}
	a := s.ChangeOne(c, notificationsService, method, web.API+"/subscription", "subscription", fields, f.Revision)
	if !a.OK() {
		return s.showSubscriptionForm(c, a.Status, f.Refuse(a, f.labels()), f)
	}
	return s.Done(c, "/subscriptions/"+f.Texts["name"], "The subscription is %s.", what)
}

func (s subscriptionForms) showEditSubscription(c *gin.Context) error {
	name := c.Param("name")
	d, row, err := web.ReadForm(s.Memory(c), s.state, entities.Subscriptions.Table, "subscription", name, web.APIPath("subscription/name/", name))
	if err != nil {
		return err
	}
	f := subscriptionForm{Form: subscriptionInputs.FormOf(&d, d.Name, row.Revision)}
	for _, ch := range d.Channels {
		f.add(channelFormOf(ch))
	}
	return s.showSubscriptionForm(c, http.StatusOK, "", f)
}

func (s subscriptionForms) showSubscriptionForm(c *gin.Context, status int, message string, f subscriptionForm) error {
	f.Kinds = channelKinds
	subscriptionInputs.Show(f.Form)
	if err := s.offerTags(c, f.Field("categories"), f.Field("labels")); err != nil {
		return err
	}
	for i := range f.Channels {
		f.Channels[i].setInputs(s.network, f.Problems)
	}
	title := "Add a subscription"
	if !f.New() {
		title = "Edit subscription " + f.Old
	}
	return s.Show(c, status, "subscription_form", web.Page{Title: title, Message: message, Data: f})
}

// tags reads the categories and labels in use, for forms and filters.
type tags struct {
	*web.Site
	state, notes entities.Reader
}

// offerTags has the fields for a category, or categories, and for labels suggest the ones in use.
func (s tags) offerTags(c *gin.Context, categories, labels *web.Field) (err error) {
	categories.Options, labels.Options, err = s.tagsInUse(c)
	return err
}

// tagsInUse are the categories and labels of the notifications and subscriptions that changed last. Those that only a subscription has are
// marked, because one of them may be misspelt.
func (s tags) tagsInUse(c *gin.Context) (categories, labels []web.Option, err error) {
	notes, _, err := web.List(s.Memory(c), s.notes, entities.Notifications, domain.Page{Limit: web.PageRows}, nil, rowOfNotification)
	if err != nil {
		return nil, nil, err
	}
	seenCategories, seenLabels := []string{domain.DeviceChanged}, []string{domain.DeviceChangedLabel}
	for _, one := range notes {
		if !noticed.IsTest(one) {
			seenCategories, seenLabels = append(seenCategories, one.Category), append(seenLabels, one.Labels...)
		}
	}
	subs, _, err := web.List(s.Memory(c), s.state, entities.Subscriptions, domain.Page{Limit: web.MostSuggested}, nil, func(s *domain.Subscription) domain.Subscription {
		return domain.Subscription{Categories: cutTags(s.Categories), Labels: cutTags(s.Labels)}
	})
	var wantedCategories, wantedLabels []string
	for _, one := range subs {
		wantedCategories, wantedLabels = append(wantedCategories, one.Categories...), append(wantedLabels, one.Labels...)
	}
	return tagOptions(seenCategories, wantedCategories), tagOptions(seenLabels, wantedLabels), err
}

// cutTags copies the first categories or labels, each as a whole.
func cutTags(tags []string) []string {
	return web.Cut(&web.Cutter{Entries: web.RowEntries, Text: web.MostFilter, Room: web.RowBytes}, &tags)
}

// tagOptions are the tags of notifications and of subscriptions to choose from.
func tagOptions(seen, wanted []string) []web.Option {
	tags := slices.Concat(seen, wanted)
	slices.Sort(tags)
	tags = slices.DeleteFunc(slices.Compact(tags), func(t string) bool { return t == "" })
	all := web.OptionsOf(tags[:min(len(tags), web.MostSuggested)]...)
	for i, one := range all {
		if !slices.Contains(seen, one.Value) {
			all[i].Label += " (of a subscription; no recent notification has it)"
		}
	}
	return all
}
