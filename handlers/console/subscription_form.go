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
	"ledge/handlers/noticed"
)

// channelKinds are the types of channels in the order of the form: ZeroMQ first, e-mail last.
var channelKinds = slices.SortedStableFunc(slices.Values(domain.ChannelTypes()), func(a, b string) int {
	rank := map[string]int{domain.ChannelZeroMQ: -1, domain.ChannelEmail: 1}
	return cmp.Compare(rank[a], rank[b])
})

// firstPort is the first port to propose for a new ZeroMQ channel.
const firstPort = 5563

// channelForm is one channel as the user has entered it.
type channelForm struct {
	domain.Channel
	Index      int
	PortText   string
	PortHint   string
	Recipients string
}

// subscriptionForm is a subscription as the user has entered it. Old is the name of the one that is edited.
type subscriptionForm struct {
	Old, Revision                            string
	Name, Description, Receiver, AdminState  string
	Categories, Labels                       string
	ResendLimit, ResendInterval              string
	Channels                                 []channelForm
	Problems                                 problems
	Interfaces, CategoriesInUse, LabelsInUse []option
}

// Kinds are the types of channels that can be added.
func (subscriptionForm) Kinds() []string { return channelKinds }

// States are the admin states to choose from.
func (subscriptionForm) States() []option { return lockOptions() }

// Schemes are those of a channel.
func (f channelForm) Schemes() []option {
	k, _ := f.Kind()
	return options(k.Schemes...)
}

// Methods are those of a REST channel.
func (channelForm) Methods() []option { return options("POST", "PUT", "PATCH") }

// AuthModes are those of an MQTT channel.
func (channelForm) AuthModes() []option {
	return options(domain.AuthNone, domain.AuthPassword, domain.AuthCert, domain.AuthCACert)
}

// QoSLevels are those of an MQTT channel.
func (channelForm) QoSLevels() []option { return options("0", "1", "2") }

// QoSText is the level as text.
func (f channelForm) QoSText() string { return strconv.Itoa(f.QoS) }

// Field is the name of an input of the channel.
func (f channelForm) Field(name string) string { return fmt.Sprintf("channels[%d].%s", f.Index, name) }

func (s *Console) showAddSubscription(c *gin.Context) {
	kind := c.Query("kind")
	if !slices.Contains(channelKinds, kind) {
		kind = domain.ChannelZeroMQ
	}
	f := subscriptionForm{AdminState: domain.StateUnlocked, Categories: domain.DeviceChanged}
	f.add(s.newChannel(kind))
	s.showSubscriptionForm(c, http.StatusOK, "", f)
}

// newChannel is a channel with the usual values.
func (s *Console) newChannel(kind string) channelForm {
	f := channelForm{Channel: domain.Channel{Type: kind}}
	switch kind {
	case domain.ChannelZeroMQ:
		f.Host = "*"
		f.PortText = strconv.Itoa(firstPort)
		for port := firstPort; s.PortUse != nil && port < firstPort+20; port++ {
			if use := s.PortUse("*", port); use == PortFree {
				f.PortText = strconv.Itoa(port)
				break
			}
		}
	case domain.ChannelREST:
		f.Scheme, f.HTTPMethod = "http", http.MethodPost
	case domain.ChannelMQTT:
		f.Scheme, f.PortText, f.AuthMode = "tcp", "1883", domain.AuthNone
	}
	return f
}

func (f *subscriptionForm) add(ch channelForm) {
	ch.Index = len(f.Channels)
	f.Channels = append(f.Channels, ch)
}

// readSubscriptionForm reads what the user has entered, and adds or removes a channel if its button was pressed.
func (s *Console) readSubscriptionForm(c *gin.Context) (f subscriptionForm, again bool) {
	f = subscriptionForm{
		Old: c.Param("name"), Revision: c.PostForm("revision"), Name: strings.TrimSpace(c.PostForm("name")), Description: c.PostForm("description"),
		Receiver: c.PostForm("receiver"), AdminState: c.PostForm("adminState"), Categories: c.PostForm("categories"), Labels: c.PostForm("labels"),
		ResendLimit: strings.TrimSpace(c.PostForm("resendLimit")), ResendInterval: strings.TrimSpace(c.PostForm("resendInterval")),
	}
	if f.Old != "" {
		f.Name = f.Old
	}
	for i := 0; i < domain.MaxChannels && c.PostForm(channelForm{Index: i}.Field("type")) != ""; i++ {
		if c.PostForm("remove") != strconv.Itoa(i) {
			f.add(readChannel(c, channelForm{Index: i}))
		}
	}
	if kind := c.PostForm("more"); slices.Contains(channelKinds, kind) && len(f.Channels) < domain.MaxChannels {
		f.add(s.newChannel(kind))
	}
	return f, c.PostForm("more") != "" || c.PostForm("remove") != "" || c.PostForm("check") != ""
}

func readChannel(c *gin.Context, f channelForm) channelForm {
	text := func(name string) string { return strings.TrimSpace(c.PostForm(f.Field(name))) }
	f.PortText, f.Recipients = text("port"), text("recipients")
	port, _ := strconv.Atoi(f.PortText) // the service says what is wrong with 0
	qos, _ := strconv.Atoi(text("qos"))
	f.Channel = domain.Channel{
		Type: text("type"), Scheme: text("scheme"), Host: text("host"), Port: port, Path: text("path"), HTTPMethod: text("httpMethod"),
		Topic: text("topic"), Publisher: text("publisher"), QoS: qos, Retained: text("retained") != "", SecretPath: text("secretPath"), AuthMode: text("authMode"),
		AutoReconnect: text("autoReconnect") != "", SkipCertVerify: text("skipCertVerify") != "", Recipients: splitLabels(f.Recipients),
	}
	f.KeepAlive, _ = strconv.Atoi(text("keepAlive"))
	f.ConnectTimeout, _ = strconv.Atoi(text("connectTimeout"))
	return f
}

// fields are those of the request.
func (f subscriptionForm) fields() map[string]any {
	channels := make([]domain.Channel, len(f.Channels))
	for i, ch := range f.Channels {
		channels[i] = ch.Trim()
		channels[i].Port = ch.Port
	}
	fields := map[string]any{
		"name": f.Name, "description": f.Description, "receiver": f.Receiver, "adminState": f.AdminState,
		"categories": splitLabels(f.Categories), "labels": splitLabels(f.Labels), "channels": channels,
	}
	if limit, err := strconv.Atoi(f.ResendLimit); err == nil {
		fields["resendLimit"] = limit
	}
	if f.ResendInterval != "" {
		fields["resendInterval"] = f.ResendInterval
	}
	return fields
}

func (s *Console) addSubscription(c *gin.Context) { s.saveSubscription(c, http.MethodPost, "added") }

func (s *Console) editSubscription(c *gin.Context) {
	s.saveSubscription(c, http.MethodPatch, "changed")
}

func (s *Console) saveSubscription(c *gin.Context, method, what string) {
	f, again := s.readSubscriptionForm(c)
	if again {
		s.showSubscriptionForm(c, http.StatusOK, "", f)
		return
	}
	a := s.changeOne(c, notificationsService, method, api+"/subscription", "subscription", f.fields(), f.Revision)
	if !a.ok() {
		f.Problems = a.Problems
		s.showSubscriptionForm(c, a.Status, a.Message, f)
		return
	}
	s.done(c, "/subscriptions/"+f.Name, "The subscription is %s.", what)
}

func (s *Console) showEditSubscription(c *gin.Context) {
	name := c.Param("name")
	d, row, err := readForm(s.memory(c), s.State, subscriptionKind.Table, "subscription", name, apiPath("subscription/name/", name))
	if err != nil {
		s.fail(c, err)
		return
	}
	f := subscriptionForm{
		Old: d.Name, Revision: strconv.FormatUint(row.Revision, 10), Name: d.Name, Description: d.Description, Receiver: d.Receiver, AdminState: d.AdminState,
		Categories: strings.Join(d.Categories, ", "), Labels: strings.Join(d.Labels, ", "), ResendInterval: d.ResendInterval,
	}
	if d.ResendLimit != 0 {
		f.ResendLimit = strconv.Itoa(d.ResendLimit)
	}
	for _, ch := range d.Channels {
		f.add(channelForm{Channel: ch, PortText: strconv.Itoa(ch.Port), Recipients: strings.Join(ch.Recipients, ", ")})
	}
	s.showSubscriptionForm(c, http.StatusOK, "", f)
}

func (s *Console) showSubscriptionForm(c *gin.Context, status int, message string, f subscriptionForm) {
	var err error
	if f.CategoriesInUse, f.LabelsInUse, err = s.tagsInUse(c); err != nil {
		s.fail(c, err)
		return
	}
	f.Interfaces = s.bindHosts()
	for i := range f.Channels {
		if f.Channels[i].Type == domain.ChannelZeroMQ {
			f.Channels[i].PortHint = s.portHint(f.Channels[i].Channel, f.Channels[i].PortText)
		}
	}
	title := "Add a subscription"
	if f.Old != "" {
		title = "Edit subscription " + f.Old
	}
	s.show(c, status, "subscription_form", Page{Title: title, Message: message, Data: f})
}

// tagsInUse are the categories and labels of the notifications and subscriptions that changed last. Those that only a subscription has are
// marked, because one of them may be misspelt.
func (s *Console) tagsInUse(c *gin.Context) (categories, labels []option, err error) {
	notes, _, err := list(s.memory(c), s.Notes, notificationKind, domain.Page{Limit: pageRows}, nil, rowOfNotification)
	if err != nil {
		return nil, nil, err
	}
	seenCategories, seenLabels := []string{domain.DeviceChanged}, []string{domain.DeviceChangedLabel}
	for _, one := range notes {
		if !noticed.IsTest(one) {
			seenCategories, seenLabels = append(seenCategories, one.Category), append(seenLabels, one.Labels...)
		}
	}
	subs, _, err := list(s.memory(c), s.State, subscriptionKind, domain.Page{Limit: mostSuggested}, nil, func(s *domain.Subscription) domain.Subscription {
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
	return cutWith(&cutter{entries: rowEntries, text: mostFilter, room: rowBytes}, &tags)
}

// tagOptions are the tags of notifications and of subscriptions to choose from.
func tagOptions(seen, wanted []string) []option {
	tags := slices.Concat(seen, wanted)
	slices.Sort(tags)
	tags = slices.DeleteFunc(slices.Compact(tags), func(t string) bool { return t == "" })
	all := options(tags[:min(len(tags), mostSuggested)]...)
	for i, one := range all {
		if !slices.Contains(seen, one.Value) {
			all[i].Label += " (of a subscription; no recent notification has it)"
		}
	}
	return all
}
