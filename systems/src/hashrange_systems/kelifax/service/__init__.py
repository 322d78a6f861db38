"""The use cases of the directory. `services.Services` has one of each; each module says what it offers.

For everybody
    directory     Directory: browse(filters, size, after), find(slug), related(entry), featured(), facets(),
                  list_all(), scan(query)
    submissions   Submissions: preflight(form), submit(form, client, proof), confirm(token), status(token),
                  resubmit(token, form)
    proofs        Proofs: make_challenge(), use(payload)
    suggestions   Suggestions: suggest(slug, fields, client, note, author)
    link_checks   LinkChecks: report(slug, client)
    view_counts   ViewCounts: count(slug), trend(slug)
    reviews       Reviews: submit(slug, ...), confirm(token), published(slug), vote(slug, visitor),
                  unvote(slug, visitor), score(slug)
    favourites    Favourites: add, remove, list_favourites(visitor), create_collection, change_collection,
                  find_shared(id)
    ownerships    Ownerships: claim(slug, email, statement, client), confirm(token), edit(token, form)
    digests       Digests: subscribe(email, categories, client), confirm(token), unsubscribe(token)

For moderators: every method takes the `Actor` that `Admins.authenticate` returns
    admins        Admins: sign_in(name, password), authenticate(cookie), sign_out(cookie), add, change, list_all
    moderation    Moderation: queue(size, after), read_detail(slug), hold, release_hold, approve, reject, unpublish,
                  undo, feature, edit, rename, bulk
    deletion      Deletion: delete(slug, actor)
    analytics     Analytics: by_domain(), by_views(), counts()
    privacy       Privacy: export_person(email), erase_person(email, actor)

For the worker and operators
    mails         MailOutbox: send_due(shard)
    adoption      Adoption: adopt(dry_run), repair()
"""
