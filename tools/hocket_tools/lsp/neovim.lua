-- hocket for Neovim from 0.7 on: while you write prose, grey text says what may come next.
-- Tab takes all of it, Ctrl-Right its first word, Esc nothing.
--
-- Install it with: hocket lsp --lua > ~/.config/nvim/plugin/hocket.lua
-- In init.lua you may set vim.g.hocket_command and vim.g.hocket_filetypes.

local command = vim.g.hocket_command or { "hocket", "lsp" }
local filetypes = vim.g.hocket_filetypes or { "text", "markdown", "mail", "gitcommit", "rst", "tex", "asciidoc", "org" }

local has_inline_text = vim.fn.has("nvim-0.10") == 1
local space = vim.api.nvim_create_namespace("hocket")
local group = vim.api.nvim_create_augroup("hocket", {})
local asked -- the last state of a buffer that a suggestion was asked for
local shown -- the suggestion that is drawn
local client_id

-- They are ours while something is grey, and the user's else; `theirs` is what the buffer had for one before.
local keys = {
  { lhs = "<Tab>", pattern = "^.*$", desc = "hocket: take all" },
  { lhs = "<C-Right>", pattern = "^%s*%S*", desc = "hocket: take a word" },
}

vim.api.nvim_set_hl(0, "HocketGhost", { link = "Comment", default = true })

local function state()
  local cursor = vim.api.nvim_win_get_cursor(0)
  local buffer = vim.api.nvim_get_current_buf()
  return { buffer = buffer, tick = vim.api.nvim_buf_get_changedtick(buffer), row = cursor[1] - 1, column = cursor[2] }
end

local function is_inserting()
  return vim.api.nvim_get_mode().mode:sub(1, 1) == "i"
end

local function mapped(buffer, key)
  for _, map in ipairs(vim.api.nvim_buf_get_keymap(buffer, "i")) do
    if map.lhs == key.lhs then
      return map
    end
  end
end

local function lend_key(buffer, key)
  key.theirs = mapped(buffer, key)
  vim.keymap.set("i", key.lhs, key.take, { buffer = buffer, nowait = true, desc = key.desc })
end

-- Unless another plugin has taken it meanwhile.
local function give_back_key(buffer, key)
  local map, theirs = mapped(buffer, key), key.theirs
  key.theirs = nil
  if not map or map.desc ~= key.desc then
    return
  end
  vim.keymap.del("i", key.lhs, { buffer = buffer })
  if theirs then
    local options = { callback = theirs.callback, desc = theirs.desc }
    for _, name in ipairs({ "expr", "noremap", "nowait", "script", "silent" }) do
      options[name] = theirs[name] ~= 0
    end
    if theirs.replace_keycodes then
      options.replace_keycodes = theirs.replace_keycodes ~= 0
    end
    local rhs = (theirs.rhs or ""):gsub("<[sS][iI][dD]>", "<SNR>" .. theirs.sid .. "_")
    vim.api.nvim_buf_set_keymap(buffer, "i", key.lhs, rhs, options)
  end
end

local function forget()
  if shown and vim.api.nvim_buf_is_valid(asked.buffer) then
    vim.api.nvim_buf_clear_namespace(asked.buffer, space, 0, -1)
    for _, key in ipairs(keys) do
      give_back_key(asked.buffer, key)
    end
  end
  asked, shown = nil, nil
end

-- Write what is shown, or its beginning that matches. A text may have changed faster than we were told, or a menu have
-- come: then the key is typed anew, as whatever it is without us.
local function take(key)
  if not shown or not vim.deep_equal(state(), asked) or vim.fn.pumvisible() == 1 then
    local mode = shown and "i" or "in" -- nothing is ours any more: whoever still calls us must not be called by us
    forget()
    vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes(key.lhs, true, false, true), mode, false)
    return
  end
  local place, lines = asked, vim.split(shown:match(key.pattern), "\n")
  forget()
  vim.api.nvim_buf_set_text(place.buffer, place.row, place.column, place.row, place.column, lines)
  local column = #lines == 1 and place.column + #lines[1] or #lines[#lines]
  vim.api.nvim_win_set_cursor(0, { place.row + #lines, column })
end

for _, key in ipairs(keys) do
  key.take = function()
    take(key)
  end
end

-- A text in lines: the first has `room` columns, the others are as wide as the window.
local function wrapped(text, room)
  local lines = { "" }
  for word in text:gmatch("%s*%S+") do
    if vim.fn.strdisplaywidth(word) > room then
      word = word:gsub("^%s+", "")
      table.insert(lines, "")
      room = vim.api.nvim_win_get_width(0)
    end
    lines[#lines] = lines[#lines] .. word
    room = room - vim.fn.strdisplaywidth(word)
  end
  return lines
end

local function draw(text)
  shown = text
  for _, key in ipairs(keys) do
    lend_key(asked.buffer, key)
  end
  local mark = { id = 1, virt_text = { { text, "HocketGhost" } }, virt_text_pos = "inline" }
  if not has_inline_text then
    -- What stands behind the cursor is drawn over, so it is drawn again; words that have no room go below.
    local lines = wrapped(text, vim.api.nvim_win_get_width(0) - vim.fn.wincol() + 1)
    local behind = vim.api.nvim_get_current_line():sub(asked.column + 1)
    mark.virt_text_pos = "overlay"
    mark.virt_text = { { table.remove(lines, 1), "HocketGhost" }, { behind, "Normal" } }
    mark.virt_lines = vim.tbl_map(function(line)
      return { { line, "HocketGhost" } }
    end, lines)
  end
  vim.api.nvim_buf_set_extmark(asked.buffer, space, asked.row, asked.column, mark)
end

local function request(client, method, params, handler)
  if vim.fn.has("nvim-0.11") == 1 then
    client:request(method, params, handler)
  else
    client.request(method, params, handler)
  end
end

-- Ask for a suggestion, unless it was asked for already: a key may move the cursor and change the text.
local function ask(client)
  local now = state()
  if vim.deep_equal(now, asked) then
    return
  end
  forget()
  if not is_inserting() or vim.fn.pumvisible() == 1 then
    return
  end
  asked = now
  local params = vim.lsp.util.make_position_params(0, client.offset_encoding)
  params.context = { triggerKind = 2 }
  request(client, "textDocument/inlineCompletion", params, function(failure, result)
    local item = not failure and result and result.items[1]
    if item and item.insertText ~= "" and is_inserting() and vim.deep_equal(asked, now) and vim.deep_equal(state(), now) then
      draw(item.insertText)
    end
  end)
end

local function on_attach(client, buffer)
  vim.api.nvim_clear_autocmds({ group = group, buffer = buffer })
  local function on(events, callback)
    vim.api.nvim_create_autocmd(events, { group = group, buffer = buffer, callback = callback })
  end
  local function ask_here()
    if vim.api.nvim_get_current_buf() == buffer then
      ask(client)
    end
  end
  on({ "TextChangedI", "CursorMovedI" }, ask_here)
  on("InsertEnter", vim.schedule_wrap(ask_here)) -- it comes before the cursor has moved
  ask_here() -- somebody may have begun to write before the server was there
  on({ "InsertLeave", "BufLeave", "CompleteChanged" }, forget)
end

-- Newer memory may change what comes next of a text that stands.
local function refresh(_, _, context)
  local client = vim.lsp.get_client_by_id(context.client_id)
  if client and asked and asked.buffer == vim.api.nvim_get_current_buf() then
    forget()
    ask(client)
  end
  return vim.NIL
end

local capabilities = vim.lsp.protocol.make_client_capabilities()
capabilities.experimental = { inlineCompletionRefresh = true }

local config = {
  name = "hocket",
  capabilities = capabilities,
  handlers = { ["workspace/inlineCompletion/refresh"] = refresh },
  cmd = command,
  flags = { debounce_text_changes = 0 }, -- else changes wait for 150 ms
  on_attach = on_attach,
  on_exit = function()
    client_id = nil
  end,
}

vim.api.nvim_create_autocmd("FileType", {
  group = group,
  pattern = filetypes,
  callback = function(event)
    if vim.lsp.start then
      vim.lsp.start(config, { bufnr = event.buf })
      return
    end
    client_id = client_id or vim.lsp.start_client(config)
    if client_id then
      vim.lsp.buf_attach_client(event.buf, client_id)
    end
  end,
})
